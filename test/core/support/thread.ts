// A thread that does as it is asked, also what goes wrong.

import { serveThread } from '../../../src/core/thread.ts';

export type Asked = {
  double(value: number): number;
  sleep(ms: number): string;
  /** Hangs, as a call of a disk does: nothing else is answered meanwhile. */
  hang(ms: number): string;
  fail(code: string): void;
  die(): void;
  notify(text: string): void;
};

type Settings = { opensAfterMs: number; starts: SharedArrayBuffer };

serveThread<Settings, Asked, string>(async ({ opensAfterMs, starts }, notify) => {
  if (Atomics.add(new Int32Array(starts), 0, 1) === 0) await Bun.sleep(opensAfterMs);
  return {
    opened: 'open',
    calls: {
      double: (value) => value * 2,
      async sleep(ms) {
        await Bun.sleep(ms);
        return `slept ${ms}`;
      },
      hang(ms) {
        Bun.sleepSync(ms);
        return `hung ${ms}`;
      },
      fail(code) {
        throw Object.assign(new Error('refused'), { code });
      },
      die: () => process.exit(1),
      notify: (text) => notify({ text }),
    },
  };
});
