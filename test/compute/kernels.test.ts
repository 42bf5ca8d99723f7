// The kernels against independent references.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Kernels } from '../../src/compute/kernels.ts';
import { normaliseText } from '../../src/compute/normalise.ts';
import { loadModule } from '../../src/infra/wasm/worker.ts';
import { KERNELS } from './support/pool.ts';
import { embedPlainly } from './support/reference.ts';

let checkpoints = 0;
const host = {
  checkpoint() {
    checkpoints++;
  },
};
const instance = new WebAssembly.Instance(await loadModule(KERNELS), { host });
const kernels = instance.exports as Kernels;
const input = new Uint8Array(kernels.memory.buffer, kernels.input(), kernels.INPUT_BYTES.value as number);

/** Feeds a normalised text, in pieces of at most so many bytes. */
function embed(text: string, pieceBytes = input.length): Float32Array {
  kernels.embed();
  for (let rest = text; rest.length > 0; ) {
    const { read, written } = new TextEncoder().encodeInto(rest, input.subarray(0, pieceBytes));
    kernels.feed(written);
    rest = rest.slice(read);
  }
  kernels.finish();
  return new Float32Array(kernels.memory.buffer, kernels.output(), 384).slice();
}

const lengthOf = (vector: Float32Array): number => Math.hypot(...vector);

/** Words of any characters, and of few, so that they repeat. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '中', '国', '한', '𠀀', '😀', 'ß'), maxLength: 400 }),
);

describe('fibonacci', () => {
  test('is right up to 36', () => {
    let [current, next] = [0n, 1n];
    for (let n = 0; n <= 36; n++) {
      expect(kernels.fibonacci(n)).toBe(current);
      [current, next] = [next, current + next];
    }
  });

  test('comes to a checkpoint a few thousand times a second', () => {
    checkpoints = 0;
    // Each step adds 0 or 1, so that there are at least as many as the number: a processor makes hundreds of millions a second.
    const steps = Number(kernels.fibonacci(38));
    expect(steps / checkpoints).toBeLessThan(100_000);
  });
});

describe('embed', () => {
  test('gives the same bits as the plain one, for any text in any pieces', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 4, max: 64 }), (text, pieceBytes) => {
        const normalised = normaliseText(text);
        expect(embed(normalised, pieceBytes)).toEqual(embedPlainly(normalised));
      }),
      { numRuns: 2000 },
    );
  });

  test('gives the same bits as the plain one for texts with more n-grams than are counted together', () => {
    const words = Array.from({ length: 12_000 }, (_, index) => `wort${(index * 7919) % 9973}`);
    for (const text of [words.join(' '), '漢字'.repeat(40_000), 'x'.repeat(1_000_000), words.join('')])
      expect(embed(text)).toEqual(embedPlainly(text));
  });

  test('gives vectors of unit length, never NaN', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(lengthOf(embed(normaliseText(text)))).toBeCloseTo(1, 5);
      }),
      { numRuns: 1000 },
    );
  });

  test('gives a text without a word the first axis', () => {
    const axis = Float32Array.from({ length: 384 }, (_, index) => (index === 0 ? 1 : 0));
    for (const text of ['', ' ', '\t\n\u2003', '...', '！？'])
      expect(embed(normaliseText(text))).toEqual(axis);
  });

  test('keeps its memory over 200,000 texts', () => {
    const texts = Array.from(
      { length: 1000 },
      (_, index) => `note ${index} on invoices, Überweisungen и 請求書`,
    );
    const normalised = texts.map(normaliseText);
    const bytes = kernels.memory.buffer.byteLength;
    const first = embed(normalised[0] ?? '');
    for (let round = 0; round < 200; round++) {
      for (const text of normalised) {
        kernels.embed();
        kernels.feed(new TextEncoder().encodeInto(text, input).written);
        kernels.finish();
      }
    }
    expect(kernels.memory.buffer.byteLength).toBe(bytes);
    expect(embed(normalised[0] ?? '')).toEqual(first);
  });
});

describe('normalising', () => {
  test.each([
    ['Straße STRASSE STRAẞE', 'strasse strasse strasse'],
    ['ΟΔΟΣ οδος ὀδός', 'οδοσ οδοσ ὀδόσ'],
    ['ﬁnance Ｆｕｌｌ ①', 'finance full 1'],
    ['C++, €5 & <b>', 'c++ €5 <b>'],
    ['half \ud800 a pair', 'half \ufffd a pair'],
    ['e\u0301 É', 'é é'],
    ['a\u0000b\r\nc', 'a b c'],
  ])('%j is read as %j', (text, words) => {
    expect(normaliseText(text)).toBe(words);
  });

  test('does not depend on case or composition, for any character', () => {
    const differing: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      const once = normaliseText(character);
      const others = [once, character.normalize('NFD'), character.toUpperCase(), character.toLowerCase()];
      if (others.some((other) => normaliseText(other) !== once)) differing.push(code.toString(16));
    }
    expect(differing).toEqual([]);
  });

  test('done twice changes nothing', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const once = normaliseText(text);
        expect(normaliseText(once)).toBe(once);
        expect(normaliseText(text.normalize('NFD'))).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });
});
