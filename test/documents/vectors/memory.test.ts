// The kernel and the memory around it against a plain list: the same vectors, scores to the last bit, and order.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Kernels } from '../../../src/documents/vectors/kernels.ts';
import { FOUND_MAX } from '../../../src/documents/vectors/limits.ts';
import { createVectorMemory, MemoryFull } from '../../../src/documents/vectors/memory.ts';
import { quantise, toQuery } from '../../../src/documents/vectors/quantise.ts';
import { askForHugePages, HUGE_PAGE_BYTES } from '../../../src/infra/wasm/huge-pages.ts';
import { loadModule } from '../../../src/infra/wasm/module.ts';
import { findPlainly, type PlainRow, rowsOf } from './plain.ts';

const module = await loadModule(join(import.meta.dir, '../../../build/vectors.wasm'));
const createMemory = (bytesMax = 2 ** 26) =>
  createVectorMemory(new WebAssembly.Instance(module).exports as unknown as Kernels, bytesMax);

const documentOf = (number: number): string =>
  `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

/** Few values, so that scores tie often, and extreme ones. */
const component = fc.constantFrom(-1, -0.5, -0.25, 0, 0.25, 0.5, 1);
const DIMENSIONS = [1, 15, 16, 17, 48] as const;

const scenario = fc.constantFrom(...DIMENSIONS).chain((dimensions) => {
  const vector = fc.array(component, { minLength: dimensions, maxLength: dimensions });
  const change = fc.oneof(
    { weight: 3, arbitrary: fc.record({ put: fc.nat(12), vectors: fc.array(vector, { maxLength: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.array(fc.nat(12), { maxLength: 5 }) }) },
  );
  const query = fc.record({
    vector,
    limit: fc.integer({ min: 1, max: 40 }),
    documents: fc.option(fc.array(fc.nat(14), { maxLength: 6 }), { nil: undefined }),
    skip: fc.nat(20),
  });
  return fc.record({
    dimensions: fc.constant(dimensions),
    changes: fc.array(change, { maxLength: 20 }),
    queries: fc.array(query, { minLength: 1, maxLength: 8 }),
  });
});

test('finds exactly what a plain list has, with ties, after any changes, behind any place, among any documents', () => {
  fc.assert(
    fc.property(scenario, ({ dimensions, changes, queries }) => {
      const memory = createMemory();
      memory.add('space', dimensions, new Uint8Array(0));
      let rows: PlainRow[] = [];
      let ids = 1n;
      for (const change of changes) {
        const gone = 'put' in change ? [documentOf(change.put)] : change.remove.map(documentOf);
        memory.remove('space', gone);
        rows = rows.filter(({ document }) => !gone.includes(document));
        if (!('put' in change)) continue;
        const document = documentOf(change.put);
        const added = change.vectors.map((vector) => ({ document, id: ids++, stored: quantise(vector) }));
        memory.add('space', dimensions, rowsOf(added));
        rows.push(...added);
      }
      const scans = queries.map(({ vector, limit, documents, skip }) => {
        const { components } = toQuery(vector);
        const plain = { components, limit: rows.length, documents: documents?.map(documentOf) };
        const behind = skip === 0 ? undefined : findPlainly(rows, { ...plain, behind: undefined })[skip - 1];
        return { ...plain, limit, behind };
      });
      expect(memory.scan('space', scans)).toEqual(scans.map((scan) => findPlainly(rows, scan)));
      expect(memory.size('space').vectors).toBe(rows.length);
    }),
    { numRuns: 300 },
  );
});

test('many more vectors than a slab holds are found in order, in several goes', () => {
  const memory = createMemory();
  const dimensions = 384;
  const random = Array.from({ length: 3000 }, (_, index) => ({
    document: documentOf(index % 7),
    id: BigInt(index + 1),
    stored: quantise(Array.from({ length: dimensions }, (_, at) => Math.sin(index * 31 + at * (index % 97)))),
  }));
  memory.add('space', dimensions, rowsOf(random));
  const { components } = toQuery(Array.from({ length: dimensions }, (_, at) => Math.cos(at)));
  const all = findPlainly(random, { components, limit: FOUND_MAX, behind: undefined, documents: undefined });
  let found: typeof all = [];
  for (;;) {
    const [more = []] = memory.scan('space', [
      { components, limit: 700, behind: found.at(-1), documents: undefined },
    ]);
    found = [...found, ...more];
    if (more.length < 700) break;
  }
  expect(found).toEqual(all);
});

test('the largest sums of products do not overflow', () => {
  const memory = createMemory();
  const dimensions = 8192;
  const ones = Array<number>(dimensions).fill(1);
  const row = { document: documentOf(1), id: 1n, stored: quantise(ones) };
  memory.add('space', dimensions, rowsOf([row]));
  const query = toQuery(ones);
  const [[found] = []] = memory.scan('space', [
    { components: query.components, limit: 1, behind: undefined, documents: undefined },
  ]);
  expect((found?.score ?? 0) * query.scale).toBeCloseTo(1, 4);
});

test('a huge page is there as a whole before a vector comes into it', () => {
  const grown: { buffer: ArrayBuffer; from: number }[] = [];
  const kernels = new WebAssembly.Instance(module).exports as unknown as Kernels;
  const memory = createVectorMemory(kernels, 2 ** 26, (buffer, from) => {
    askForHugePages(buffer, from);
    grown.push({ buffer, from });
  });
  const stored = quantise(Array.from({ length: 384 }, (_, at) => at));
  const rows = rowsOf(
    Array.from({ length: 500 }, (_, id) => ({ document: documentOf(1), id: BigInt(id), stored })),
  );
  for (let time = 0; time < 30; time++) {
    memory.add('space', 384, rows);
    const last = grown.at(-1);
    expect(last?.buffer).toBe(kernels.memory.buffer);
    const end = (last?.from ?? 0) + memory.size('space').bytes;
    expect(kernels.memory.buffer.byteLength - end).toBeGreaterThanOrEqual(HUGE_PAGE_BYTES);
  }
  expect(grown.length).toBeGreaterThan(1);
});

test('memory has its bound, and what is forgotten or removed is used again', () => {
  const memory = createMemory(2 ** 20);
  const vectors = (document: number, count: number) =>
    rowsOf(
      Array.from({ length: count }, (_, index) => ({
        document: documentOf(document),
        id: BigInt(document * 10_000 + index),
        stored: quantise(Array.from({ length: 384 }, (_, at) => at % (index + 2))),
      })),
    );
  for (let time = 0; time < 20; time++) {
    memory.add('one', 384, vectors(1, 1000));
    memory.add('other', 384, vectors(2, 1000));
    memory.remove('one', [documentOf(1)]);
    memory.forget('other');
    expect(memory.size('one')).toEqual({ space: 0, bytes: 0, vectors: 0 });
  }
  expect(() => memory.add('one', 384, vectors(1, 4000))).toThrow(MemoryFull);
  memory.forget('one');
  memory.add('one', 384, vectors(1, 2000));
  expect(memory.size('one').bytes / memory.size('one').vectors).toBeLessThan(450);
});
