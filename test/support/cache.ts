// Where things stay that are installed for tests and benchmarks: outside the tree.

import { homedir } from 'node:os';
import { join } from 'node:path';

export const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'atrium', 'servers');
