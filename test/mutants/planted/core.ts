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
    text: 'waiting.size >= bounds.waitingMax',
    replacement: 'waiting.size > bounds.waitingMax',
    test: 'test/core/semaphore.test.ts',
  },
  {
    mistake: 'a caller that leaves the queue takes a permit nevertheless',
    file: 'src/core/semaphore.ts',
    text: '        waiting.delete(enter);\n',
    replacement: '',
    test: 'test/core/semaphore.test.ts',
  },
];
