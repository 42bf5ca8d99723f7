// The kernel and the memory around it against a plain list: the same vectors, scores to the last bit, and order.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { createVectorMemory } from '../../../src/documents/vectors/memory.ts';
import { quantise, toQuery } from '../../../src/documents/vectors/quantise.ts';
import { loadModule } from '../../../src/infra/wasm/worker.ts';
import { findPlainly, type PlainRow, rowsOf } from './plain.ts';

const module = await loadModule(join(import.meta.dir, '../../../build/vectors.wasm'));

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
  });
  return fc.record({
    dimensions: fc.constant(dimensions),
    changes: fc.array(change, { maxLength: 20 }),
    queries: fc.array(query, { minLength: 1, maxLength: 8 }),
  });
});

test('finds exactly what a plain list has, with ties, after any changes, among any documents', () => {
  fc.assert(
    fc.property(scenario, ({ dimensions, changes, queries }) => {
      const memory = createVectorMemory(module, dimensions);
      let rows: PlainRow[] = [];
      let ids = 1n;
      for (const change of changes) {
        const gone = 'put' in change ? [documentOf(change.put)] : change.remove.map(documentOf);
        memory.remove(gone);
        rows = rows.filter(({ document }) => !gone.includes(document));
        if (!('put' in change)) continue;
        const document = documentOf(change.put);
        const added = change.vectors.map((vector) => ({ document, id: ids++, stored: quantise(vector) }));
        memory.add(rowsOf(added));
        rows.push(...added);
      }
      for (const { vector, limit, documents } of queries) {
        const { components } = toQuery(vector);
        const scan = { components, limit, documents: documents?.map(documentOf) };
        expect(memory.nearest(components, limit, scan.documents)).toEqual(findPlainly(rows, scan));
      }
      expect(memory.count()).toBe(rows.length);
    }),
    { numRuns: 300 },
  );
});

const waves = (count: number, dimensions: number): PlainRow[] =>
  Array.from({ length: count }, (_, index) => ({
    document: documentOf(index % 7),
    id: BigInt(index + 1),
    stored: quantise(Array.from({ length: dimensions }, (_, at) => Math.sin(index * 31 + at * (index % 97)))),
  }));

test('many vectors are found in order, as many as are asked for', () => {
  const memory = createVectorMemory(module, 384);
  const rows = waves(3000, 384);
  memory.add(rowsOf(rows));
  const { components } = toQuery(Array.from({ length: 384 }, (_, at) => Math.cos(at)));
  for (const limit of [1, 700, 2999, 10_000])
    expect(memory.nearest(components, limit, undefined)).toEqual(
      findPlainly(rows, { components, limit, documents: undefined }),
    );
});

test('the largest sums of products do not overflow', () => {
  const memory = createVectorMemory(module, 8192);
  const ones = Array<number>(8192).fill(1);
  memory.add(rowsOf([{ document: documentOf(1), id: 1n, stored: quantise(ones) }]));
  const query = toQuery(ones);
  const [found] = memory.nearest(query.components, 1, undefined);
  expect((found?.score ?? 0) * query.scale).toBeCloseTo(1, 4);
});

test('what is removed is used again, and a vector takes little more than its components', () => {
  const memory = createVectorMemory(module, 384);
  const rows = rowsOf(waves(2000, 384));
  memory.add(rows);
  const { length } = new Uint8Array(memory.bytes());
  for (let time = 0; time < 20; time++) {
    memory.remove(Array.from({ length: 7 }, (_, number) => documentOf(number)));
    expect(memory.count()).toBe(0);
    memory.add(rows);
  }
  expect(memory.bytes()).toBe(length);
  expect(memory.bytes() / memory.count()).toBeLessThan(450);
});
