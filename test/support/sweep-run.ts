// Ends what a test run leaves: `bun test/support/sweep-run.ts FOLDER` waits for the end of its standard input, which is
// the end of the run, however it comes; then it ends every process that names the folder, and removes the folder.

import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';

const ROUND_MS = 100;
/** Postgres is first asked: it then removes what it has in shared memory. */
const ASKED_ROUNDS = 30;
const ROUNDS_MAX = 100;

const folder = process.argv[2] ?? '';
if (!/\/atrium-run-\w+$/.test(folder)) throw new Error(`not the folder of a test run: ${folder}`);

/** Processes with the folder in their environment, their arguments or as the place where they work. */
function processesOfRun(): { pid: number; isPostgres: boolean }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      [
        () => readFileSync(`/proc/${pid}/environ`, 'latin1'),
        () => readFileSync(`/proc/${pid}/cmdline`, 'latin1'),
        () => readlinkSync(`/proc/${pid}/cwd`),
      ].some((read) => attempt(read)?.includes(folder)),
    )
    .map((pid) => ({
      pid: Number(pid),
      isPostgres: attempt(() => readFileSync(`/proc/${pid}/comm`, 'latin1'))?.trim() === 'postgres',
    }));
}

/** Undefined for what has ended meanwhile or is another user's. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

async function endProcesses(): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const found = processesOfRun();
    if (found.length === 0) return;
    for (const { pid, isPostgres } of found) {
      attempt(() => process.kill(pid, isPostgres && round < ASKED_ROUNDS ? 'SIGQUIT' : 'SIGKILL'));
      attempt(() => process.kill(pid, 'SIGCONT'));
    }
    await Bun.sleep(ROUND_MS);
  }
}

/** Small disks of tests that were killed. */
function unmountAll(): void {
  const mounts = attempt(() => readFileSync('/proc/self/mounts', 'utf8')) ?? '';
  for (const line of mounts.split('\n')) {
    const place = line.split(' ')[1] ?? '';
    if (place.startsWith(`${folder}/`)) Bun.spawnSync(['umount', '-l', place]);
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
for await (const _ of Bun.stdin.stream());
if (process.platform === 'linux') {
  await endProcesses();
  unmountAll();
}
rmSync(folder, { recursive: true, force: true });
