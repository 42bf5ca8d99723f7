// `bun run test [words]`: runs the test files, several at once, on one Postgres that it starts and ends. With
// `--group=NAME` (test/support/groups.ts) those of a group alone; everything else is the test runner's own. The longest
// files come first, by what they took in the run that was last given `--update-timings`.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { sharedBy, startServer } from './support/database.ts';
import { FailuresAgain } from './support/failures-again.ts';
import { filesOf, type Group, isGroup } from './support/groups.ts';
import { startNatsCluster } from './support/nats-server.ts';
import { openRunFolder } from './support/run-folder.ts';
import { sharedNats } from './support/service.ts';

/** More than half of a test's time is waiting. With four a processor a run was no shorter, and tests waited in vain. */
const FILES_AT_ONCE = Math.min(8, 3 * availableParallelism());
const ROOT = join(import.meta.dir, '..');
const TIMINGS = join(import.meta.dir, 'timings.json');
const PARENT_POLL_MS = 500;
const GROUP = '--group=';

const run = openRunFolder();
// A test file by itself runs in UTC; the run does so where clocks differ from it in hours, minutes and summer time.
process.env['TZ'] ??= 'Pacific/Chatham';

async function runTests(): Promise<number> {
  const group = groupOf(process.argv.slice(2));
  // A file of this group starts no process, and asks for no database.
  if (group !== 'unit') process.env['TEST_SERVICE'] ??= buildService();
  const server = group === 'unit' ? undefined : await startServer();
  const cluster = process.env['TEST_NATS'] === 'cluster' ? await startNatsCluster() : undefined;
  const [first] = cluster?.servers ?? [];
  const tests = Bun.spawn(
    [
      process.execPath,
      'test',
      '--no-orphans',
      `--parallel=${FILES_AT_ONCE}`,
      `--timings=${TIMINGS}`,
      ...process.argv.slice(2).filter((each) => !each.startsWith(GROUP)),
      ...(group === undefined ? [] : filesOf(group).map((path) => `./${path}`)),
    ],
    {
      stdio: ['inherit', 'inherit', process.stderr.isTTY ? 'inherit' : 'pipe'],
      env: {
        ...process.env,
        ...(server && sharedBy(server)),
        ...(cluster && first && sharedNats({ url: cluster.url, monitorUrl: first.monitorUrl })),
      },
    },
  );
  // The runner reports to its standard error.
  const reported = tests.stderr && reportOn(tests.stderr);
  const end = (signal: NodeJS.Signals): void => tests.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  const parent = process.ppid;
  const watch = setInterval(() => process.ppid === parent || end('SIGTERM'), PARENT_POLL_MS);
  const code = await tests.exited;
  await reported;
  clearInterval(watch);
  await cluster?.stop();
  await server?.end();
  return code;
}

/** Its tests start the build, as users do: a start from the sources takes twice the processor time. */
function buildService(): string {
  const { exitCode } = Bun.spawnSync([process.execPath, join(ROOT, 'src/build.ts')], { stderr: 'inherit' });
  if (exitCode !== 0) throw new Error('The service could not be built');
  return join(ROOT, 'build/server/main.js');
}

async function reportOn(output: ReadableStream<Uint8Array>): Promise<void> {
  const failures = new FailuresAgain();
  for await (const line of createInterface(Readable.from(output)))
    process.stderr.write(`${failures.lines(line).join('\n')}\n`);
}

function groupOf(options: readonly string[]): Group | undefined {
  const name = options.find((each) => each.startsWith(GROUP))?.slice(GROUP.length);
  if (name === undefined || isGroup(name)) return name;
  throw new Error(`There is no group of tests ${name}`);
}

const code = await runTests().catch((error: Error) => {
  process.stderr.write(`test: ${error.message}\n`);
  return 1;
});
await run.close();
process.exit(code);
