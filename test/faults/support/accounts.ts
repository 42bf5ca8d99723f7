// Files in which the service sums what models were used for, until it is handed on as events.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whether a file of the folder has accounts: more than its head. The next file, which is made in advance, has none. */
export const hasAccounts = (directory: string): boolean =>
  readdirSync(directory).some((name) => name.endsWith('.names') && linesOf(join(directory, name)) > 2);

/** None of a file that the service has removed since it was listed. */
const linesOf = (path: string): number => {
  try {
    return readFileSync(path, 'utf8').split('\n').length;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
    return 0;
  }
};
