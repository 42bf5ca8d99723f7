/** The file that takes the output of Postgres' programs. */
import { closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';

/** Beyond this size the file is put aside (as `.1`) at the next start. */
const LOG_SIZE_BYTES_MAX = 8 * 1024 * 1024;
const TAIL_LINES = 5;

export type LogFile = ReturnType<typeof openLogFile>;

export function openLogFile(path: string) {
  const size = sizeOf(path);
  if (size > LOG_SIZE_BYTES_MAX) renameSync(path, `${path}.1`);
  const descriptor = openSync(path, 'a', 0o600);
  let start = sizeOf(path);
  const written = () => readFileSync(path).subarray(start).toString();
  return {
    path,
    /** For a child's output; the child keeps its copy when ours is closed. */
    descriptor,
    /** The text written since the file was opened or last marked. */
    written,
    /** Lets `written` and `tail` begin here. */
    mark(): void {
      start = sizeOf(path);
    },
    /** The last few lines of that, as one line for a message. */
    tail: () => written().trim().split('\n').slice(-TAIL_LINES).join(' | '),
    close: () => closeSync(descriptor),
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
