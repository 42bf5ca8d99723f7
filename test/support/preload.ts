// Runs in the test process before the first test file; in the run of several at once, before each.

import { afterAll, setDefaultTimeout } from 'bun:test';
import { endTestDatabases } from './database.ts';
import { removeFolders } from './folders.ts';

/** For a test that hangs: no test promises this time. The longest takes two minutes, and five times as long on a busy machine. */
const TIMEOUT_MS = 900_000;

setDefaultTimeout(Number(process.env['TEST_TIMEOUT_MS'] ?? TIMEOUT_MS));
afterAll(endTestDatabases);
afterAll(removeFolders);
