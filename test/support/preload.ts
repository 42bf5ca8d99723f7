// Runs in the test process before the first test file; in the run of several at once, before each.

import { afterAll, setDefaultTimeout } from 'bun:test';
import { endTestDatabases } from './database.ts';
import { removeFolders } from './folders.ts';

/** For a test that hangs: no test promises this time, and on a busy machine one takes many times as long as on an idle one. */
const TIMEOUT_MS = 180_000;

setDefaultTimeout(Number(process.env['TEST_TIMEOUT_MS'] ?? TIMEOUT_MS));
afterAll(endTestDatabases);
afterAll(removeFolders);
