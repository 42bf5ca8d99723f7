// `bun run test [words]`: runs the test files, several at once, on one Postgres that it starts and ends. With
// `--group=NAME` (test/support/groups.ts) those of a group alone; everything else is the test runner's own.

import { availableParallelism } from 'node:os';
import { sharedBy, startServer } from './support/database.ts';
import { filesOf, isGroup } from './support/groups.ts';
import { openRunFolder } from './support/run-folder.ts';

/** Most of a test's time is waiting. */
const FILES_AT_ONCE = Math.min(8, 2 * availableParallelism());
/** Of one test on a busy machine. */
const TIMEOUT_MS = 60_000;
const PARENT_POLL_MS = 500;

const run = openRunFolder();
// A test file by itself runs in UTC; the run does so where clocks differ from it in hours, minutes and summer time.
process.env['TZ'] ??= 'Pacific/Chatham';

async function runTests(): Promise<number> {
  const server = await startServer();
  const tests = Bun.spawn(
    [
      ...[process.execPath, 'test', '--no-orphans', `--parallel=${FILES_AT_ONCE}`],
      ...['--timeout', `${TIMEOUT_MS}`, ...process.argv.slice(2).flatMap(toArguments)],
    ],
    { stdio: ['inherit', 'inherit', 'inherit'], env: { ...process.env, ...sharedBy(server) } },
  );
  const end = (signal: NodeJS.Signals): void => tests.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid === parent || end('SIGTERM'), PARENT_POLL_MS);
  const code = await tests.exited;
  clearInterval(watch);
  await server.end();
  return code;
}

function toArguments(argument: string): string[] {
  const group = /^--group=(.*)$/.exec(argument)?.[1];
  if (group === undefined) return [argument];
  if (!isGroup(group)) throw new Error(`There is no group of tests ${group}`);
  return filesOf(group).map((path) => `./${path}`);
}

const code = await runTests().catch((error: Error) => {
  process.stderr.write(`test: ${error.message}\n`);
  return 1;
});
await run.close();
process.exit(code);
