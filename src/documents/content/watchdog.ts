// A thread of a reader that ends its process where a file takes too much memory or time, which the thread that reads may be
// too busy to notice, and where the service is gone.

import { writeSync } from 'node:fs';
import { LAST_WORDS, type WatchdogSettings } from './protocol.ts';

declare const self: Worker;

const INTERVAL_MS = 50;
const STANDARD_OUTPUT = 1;

let settings: WatchdogSettings | undefined;
/** In processor time of all threads, and by the clock. */
let deadline = { workedMs: Number.POSITIVE_INFINITY, at: Number.POSITIVE_INFINITY };

const workedMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

self.onmessage = ({ data }: MessageEvent<WatchdogSettings | 'rest'>) => {
  if (data === 'rest') deadline = { workedMs: Number.POSITIVE_INFINITY, at: Number.POSITIVE_INFINITY };
  else {
    settings = data;
    deadline = { workedMs: workedMs() + data.workedMsMax, at: performance.now() + data.elapsedMsMax };
  }
};

setInterval(() => {
  if (settings === undefined) return;
  if (process.ppid !== settings.parent) end('');
  else if (process.memoryUsage.rss() > settings.memoryBytesMax) end(LAST_WORDS.memory);
  else if (workedMs() > deadline.workedMs || performance.now() > deadline.at) end(LAST_WORDS.time);
}, INTERVAL_MS);

function end(lastWords: string): void {
  try {
    writeSync(STANDARD_OUTPUT, lastWords);
  } finally {
    // Also where the service is gone, and nothing can be written any more.
    process.kill(process.pid, 'SIGKILL');
  }
}
