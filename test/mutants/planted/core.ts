import type { Planted } from '../mistake.ts';

export const core: readonly Planted[] = [
  {
    mistake: 'one failure more opens a circuit',
    file: 'src/core/circuit-breaker.ts',
    text: 'failures < failuresMax &&',
    replacement: 'failures <= failuresMax &&',
    test: 'test/core/circuit-breaker.test.ts',
  },
  {
    mistake: 'one more may wait for a permit',
    file: 'src/core/semaphore.ts',
    text: 'waiting.size >= this.bounds.waitingMax',
    replacement: 'waiting.size > this.bounds.waitingMax',
    test: 'test/core/semaphore.test.ts',
  },
  {
    mistake: 'a caller that leaves the queue takes a permit nevertheless',
    file: 'src/core/semaphore.ts',
    text: '      this.waiting.delete(resolve);\n',
    replacement: '',
    test: 'test/core/semaphore.test.ts',
  },
  {
    mistake: 'what was dropped while it was loaded is kept',
    file: 'src/core/cached-lookup.ts',
    text: 'if (loads.get(key) === started && usable())',
    replacement: 'if (usable())',
    test: 'test/core/cached-lookup.test.ts',
  },
  {
    mistake: 'a value is kept from the end of its load on',
    file: 'src/core/cached-lookup.ts',
    text: 'start: startedAt',
    replacement: 'start: now()',
    test: 'test/core/cached-lookup.test.ts',
  },
  {
    mistake: 'a permit that nobody has is given back to nobody',
    file: 'src/core/semaphore.ts',
    text: '    this.running -= 1;\n    this.admit();',
    replacement: '    this.running -= 1;',
    test: 'test/core/semaphore.test.ts',
  },
  {
    mistake: 'what is not there is kept as long as what is',
    file: 'src/core/cached-lookup.ts',
    text: 'value === undefined ? missTtlMs : ttlMs',
    replacement: 'ttlMs',
    test: 'test/core/cached-lookup.test.ts',
  },
  {
    mistake: 'timers of waits that are over are kept',
    file: 'src/core/wait.ts',
    text: '    clearTimeout(timer);\n',
    replacement: '',
    test: 'test/chat/replay.test.ts',
  },
];
