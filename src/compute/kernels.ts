// The TypeScript around each kernel (assembly/).

import { LOCAL_EMBEDDING_MODEL } from '../core/embed-texts.ts';
import type { Handler } from '../infra/wasm/worker.ts';
import { normaliseText } from './normalise.ts';

export type Kernels = {
  memory: WebAssembly.Memory;
  INPUT_BYTES: WebAssembly.Global;
  fibonacci(n: number): bigint;
  embed(): void;
  input(): number;
  feed(bytes: number): void;
  finish(): void;
  output(): number;
};

const { dimensions } = LOCAL_EMBEDDING_MODEL;
const encoder = new TextEncoder();

export const fibonacci: Handler = (kernels, input) => {
  const result = (kernels as Kernels).fibonacci(input as number);
  return BigInt.asUintN(64, result).toString();
};

/** Texts to vectors, one row a text. */
export const embed = (exports: WebAssembly.Exports, input: unknown): Float32Array<ArrayBuffer> => {
  const kernels = exports as Kernels;
  const bytes = new Uint8Array(kernels.memory.buffer, kernels.input(), kernels.INPUT_BYTES.value as number);
  const row = new Float32Array(kernels.memory.buffer, kernels.output(), dimensions);
  const texts = input as readonly string[];
  const vectors = new Float32Array(texts.length * dimensions);
  for (const [index, text] of texts.entries()) {
    kernels.embed();
    let rest = normaliseText(text);
    while (rest.length > 0) {
      const { read, written } = encoder.encodeInto(rest, bytes);
      kernels.feed(written);
      rest = rest.slice(read);
    }
    kernels.finish();
    vectors.set(row, index * dimensions);
  }
  return vectors;
};
