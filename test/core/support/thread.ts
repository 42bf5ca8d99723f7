// A thread that does as it is asked, also what goes wrong.

import { serveThread } from '../../../src/core/thread.ts';

export type Asked = {
  double(value: number): number;
  sleep(ms: number): string;
  /** Hangs until the gate is opened, as a call of a disk does: nothing else is answered meanwhile. */
  hang(): string;
  fail(code: string): void;
  die(): void;
};

/** `shared`: how many threads were started, and whether the gate is open. */
type Settings = { opensLate: boolean; shared: SharedArrayBuffer };

serveThread<Settings, Asked, string>(({ opensLate, shared }) => {
  const words = new Int32Array(shared);
  const pass = (): void => void Atomics.wait(words, 1, 0);
  if (Atomics.add(words, 0, 1) === 0 && opensLate) pass();
  return {
    opened: 'open',
    calls: {
      double: (value) => value * 2,
      async sleep(ms) {
        await Bun.sleep(ms);
        return `slept ${ms}`;
      },
      hang() {
        pass();
        return 'hung';
      },
      fail(code) {
        throw Object.assign(new Error('refused'), { code });
      },
      die: () => process.exit(1),
    },
  };
});
