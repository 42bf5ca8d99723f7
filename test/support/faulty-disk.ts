// A disk that a test can take the power from, and let go wrong call by call: a file system of its own (FUSE), held in
// memory by a program in Go (faulty-disk/). It sees every call of every process, mapped memory and Postgres included.
//
//   await using disk = await mountFaultyDisk();        // or { from: folder }: what is there is durable
//   await using service = await startService({ dataDir: join(disk.path, 'data') });
//   const found = await disk.survivor();               // as if the power had gone now, on a plain folder
//   await disk.cut();                                  // from now on every call fails with EIO
//   await disk.fail({ calls: ['fsync'], path: 'data/**/*.sqlite-wal', error: 'EIO', count: 1 });
//   await disk.clear();
//
// What survives: a file's content as of its last fsync (fdatasync, O_SYNC, msync), a name as of the last fsync of its
// folder: strictly what POSIX promises. A rename is undone or done as a whole. A seed lets some of what was not synced
// through, as a disk may have written any of it: pages of 4 KiB of a file in any selection, and of what was done to
// folders the first few steps. What an fsync that failed should have kept is not kept by the next one. The same state and seed give the same survivor, and a running service can be asked for
// many. What is open stays readable from the page cache after the cut: end the processes before a check.

import { accessSync, chmodSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findGoProgram, missingGoProgram } from './go-programs.ts';

export type Call =
  | 'lookup'
  | 'stat'
  | 'setattr'
  | 'truncate'
  | 'create'
  | 'mkdir'
  | 'unlink'
  | 'rmdir'
  | 'rename'
  | 'link'
  | 'symlink'
  | 'readlink'
  | 'open'
  | 'open-for-writing'
  | 'readdir'
  | 'read'
  | 'write'
  | 'allocate'
  | 'fsync'
  | 'close';

/** Calls that change what is on the disk. */
const CHANGING: readonly Call[] = [
  ...(['setattr', 'truncate', 'create', 'mkdir', 'unlink', 'rmdir', 'rename', 'link', 'symlink'] as const),
  ...(['open-for-writing', 'write', 'allocate'] as const),
];

export type Rule = {
  /** Every call where absent. A write that the kernel has put off (mapped memory) is a `write`, too. */
  calls?: readonly Call[];
  /** Below the mount, without a slash before it: `*` within a name, `**` across folders. A rename is named by its source. */
  path?: string;
  /** How often it applies; always where absent. */
  count?: number;
};

export type FaultyDisk = AsyncDisposable & {
  /** The mount's folder. */
  path: string;
  /** A new folder (removed with the disk) with what a machine would find if the power had gone now. Seed 0 is strict. */
  survivor(seed?: number): Promise<string>;
  /** The power goes: every call fails with EIO. */
  cut(): Promise<void>;
  /** `error` by its name: EIO, ENOSPC, EROFS, … */
  fail(rule: Rule & { error: string }): Promise<void>;
  delay(rule: Rule & { ms: number }): Promise<void>;
  /** Until `clear`; a caller that is killed meanwhile ends. */
  hang(rule?: Rule): Promise<void>;
  /** As a disk that the kernel has found to be broken: reading goes on. */
  readOnly(): Promise<void>;
  /** Ends every fault but the cut; what hung goes on. */
  clear(): Promise<void>;
};

/** Why there is none here, for the name of a test that is skipped; undefined where there is one. */
export function missingFaultyDisk(): string | undefined {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return 'needs /dev/fuse';
  }
  return missingGoProgram('faulty-disk');
}

/**
 * Mounts one, empty or with the content of a folder. Files that `namesWithFiles` matches keep their name with their
 * content when they are synced, and the folders above them that it matches keep theirs, without a sync of the folder: POSIX
 * does not say so, but the journalling file systems do it, and Postgres relies on it for the files of its tables.
 */
export async function mountFaultyDisk(
  options: { from?: string; namesWithFiles?: string } = {},
): Promise<FaultyDisk> {
  const folders: string[] = [];
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'atrium-faulty-disk-'));
    folders.push(folder);
    return folder;
  };
  const path = newFolder();
  // Postgres, as another user, passes through it.
  chmodSync(path, 0o755);
  const { from = '', namesWithFiles = '' } = options;
  const flags = ['-from', from, '-names-with-files', namesWithFiles];
  const child = Bun.spawn([findGoProgram('faulty-disk') ?? 'faulty-disk', ...flags, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = readLines(child.stdout);
  const answer = async (): Promise<void> => {
    const { value } = await answers.next();
    if (value === undefined) throw new Error('the faulty disk ended');
    const { error } = JSON.parse(value) as { error?: string };
    if (error !== undefined) throw new Error(error);
  };
  let last = answer();
  const ask = (request: object): Promise<void> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    child.stdin.flush();
    last = last.catch(() => undefined).then(answer);
    return last;
  };
  const dispose = async (): Promise<void> => {
    // Its end unmounts it, whoever still holds a file; so does the end of this process.
    child.stdin.end();
    await child.exited;
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };
  await last.catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  const rule = ({ calls, path, count }: Rule, fault: object): Promise<void> =>
    ask({ do: 'rule', calls, path, count, ...fault });
  return {
    path,
    async survivor(seed = 0) {
      const folder = newFolder();
      await ask({ do: 'survive', folder, seed });
      return folder;
    },
    cut: () => ask({ do: 'cut' }),
    fail: ({ error, ...where }) => rule(where, { error }),
    delay: ({ ms, ...where }) => rule(where, { delay_ms: ms }),
    hang: (where = {}) => rule(where, { hang: true }),
    readOnly: () => rule({ calls: CHANGING }, { error: 'EROFS' }),
    clear: () => ask({ do: 'clear' }),
    [Symbol.asyncDispose]: dispose,
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
