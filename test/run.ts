// `bun run test [words]`: runs test files, several at once, on one Postgres that it starts and ends. Without words it runs
// the quick files, with `--group=NAME` (test/support/groups.ts) those of a group, with `--group=rest` all but the quick ones, with `--group=all` all;
// everything else is the test runner's own. The longest files come first, by what they took in the run that was last given
// `--update-timings`.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { sharedBy, startServer } from './support/database.ts';
import { FailuresAgain } from './support/failures-again.ts';
import { allFiles, filesOf, isGroup, quickFiles } from './support/groups.ts';
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
  const options = process.argv.slice(2);
  const group = options.find((each) => each.startsWith(GROUP))?.slice(GROUP.length);
  const files = await chosenFiles(group, options);
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
      ...options.filter((each) => !each.startsWith(GROUP)),
      ...files.map((path) => `./${path}`),
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

/** None where words choose the files. */
async function chosenFiles(group: string | undefined, options: readonly string[]): Promise<string[]> {
  if (group !== undefined && isGroup(group)) return filesOf(group);
  if (group === 'all') return allFiles();
  if (group !== undefined && group !== 'rest') throw new Error(`There is no group of tests ${group}`);
  if (options.some((each) => !each.startsWith('-'))) return [];
  const { files: timings } = (await Bun.file(TIMINGS).json()) as { files: Record<string, number> };
  const quick = quickFiles(timings);
  return group === 'rest' ? allFiles().filter((path) => !quick.includes(path)) : quick;
}

const code = await runTests().catch((error: Error) => {
  process.stderr.write(`test: ${error.message}\n`);
  return 1;
});
await run.close();
process.exit(code);
