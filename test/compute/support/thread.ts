// A thread whose work is made to go wrong.

import { type Handler, serveKernels } from '../../../src/infra/wasm/worker.ts';

type Kernels = { fibonacci(n: number): bigint };

const die: Handler = () => process.exit(1);
const dieOnce: Handler = (_kernels, input) => {
  if (Atomics.exchange(input as Int32Array, 0, 1) === 0) process.exit(1);
  return 'alive';
};
const fail: Handler = (_kernels, input) => {
  throw new Error(`refused: ${String(input)}`);
};
const echo: Handler = (_kernels, input) => input;
const vectors: Handler = (_kernels, input) => new Float32Array(input as number).fill(1);
/** Deaf for so many milliseconds: it has no checkpoints. It sleeps in pieces, and leaves the processor to the test. */
const spin: Handler = (_kernels, input) => {
  const until = performance.now() + (input as number);
  while (performance.now() < until) Bun.sleepSync(1);
};
const fibonacci: Handler = (kernels, input) => (kernels as Kernels).fibonacci(input as number).toString();

serveKernels({ die, dieOnce, fail, echo, vectors, spin, fibonacci });
