// Vectors that cannot be loaded, or are lost meanwhile. The threads and the database are fakes: real ones can't be told when
// to end.

import { expect, test } from 'bun:test';
import { MemoryFull } from '../../../src/documents/vectors/memory.ts';
import { createSpaces, NoRoom } from '../../../src/documents/vectors/spaces.ts';
import { silentLog } from '../../support/database.ts';

const ANSWERING = {
  workspaceId: 'w',
  modelId: 1,
  model: 'm',
  dimensions: 4,
  lastSequence: 2,
  forgottenTo: 0,
  graph: null,
};
const DOCUMENTS = [
  { id: 'first', sequence: 1, passages: 1 },
  { id: 'second', sequence: 2, passages: 1 },
];

test('vectors that the threads lose while others are loaded are loaded again', async () => {
  const held = new Set<string>();
  let losing = 1;
  const spaces = createSpaces({
    loading: {
      answering: async () => ANSWERING,
      count: async () => DOCUMENTS.length,
      outdated: async () => [],
      // A document a page; between the pages a thread ends.
      async complete({ from }) {
        if (from === 1 && losing-- > 0) {
          held.clear();
          spaces.lost();
        }
        return DOCUMENTS.filter(({ sequence }) => sequence === from + 1);
      },
      async *rows(_model, documents) {
        yield Buffer.from(documents.join());
      },
    },
    scanner: {
      async add(_space, _dimensions, rows) {
        if (rows.length > 0) held.add(Buffer.from(rows).toString());
        return held.size;
      },
      remove: async () => held.size,
      async forget() {
        held.clear();
        return 0;
      },
    },
    bytesMax: 1_000_000,
    log: silentLog,
  });
  await spaces.current(ANSWERING);
  expect([...held]).toEqual(['first', 'second']);
});

test('a workspace of which one thread cannot hold its share is not loaded again by every search', async () => {
  let loads = 0;
  const spaces = createSpaces({
    loading: {
      answering: async () => ANSWERING,
      count: async () => DOCUMENTS.length,
      outdated: async () => [],
      complete: async ({ from }) => DOCUMENTS.filter(({ sequence }) => sequence > from),
      async *rows() {
        loads += 1;
        yield Buffer.alloc(1);
      },
    },
    scanner: {
      async add(_space, _dimensions, rows) {
        // As it comes from a thread.
        if (rows.length > 0) throw Object.assign(new Error('full'), { code: new MemoryFull().code });
        return 0;
      },
      remove: async () => 0,
      forget: async () => 0,
    },
    bytesMax: 1_000_000,
    log: silentLog,
  });
  for (let search = 0; search < 3; search++)
    expect(await spaces.current(ANSWERING).catch((error: unknown) => error)).toBeInstanceOf(NoRoom);
  expect(loads).toBe(1);
});
