import type { Planted } from '../mistake.ts';

export const compute: readonly Planted[] = [
  {
    mistake: 'long computations hold up short ones',
    file: 'src/compute/operations/fibonacci.ts',
    text: "n <= SHORT_N_MAX ? 'short' : 'long'",
    replacement: "n <= SHORT_N_MAX ? 'short' : 'short'",
    test: 'test/acceptance/compute.test.ts',
  },
  {
    mistake: 'a kernel forgets the last term of a sum',
    file: 'assembly/fibonacci.ts',
    text: '      sum += b;\n',
    replacement: '',
    test: 'test/compute/kernels.test.ts',
  },
];
