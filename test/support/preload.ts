// Runs in the test process before the first test file.

import { afterAll } from 'bun:test';
import { endTestDatabases } from './database.ts';

afterAll(endTestDatabases);
