// The thread that holds the vectors of workspaces in memory, and finds the nearest ones.

import { serveThread } from '../../core/thread.ts';
import { beNice, loadModule } from '../../infra/wasm/worker.ts';
import type { NearestPassage } from './engine.ts';
import { SEARCH_NICENESS } from './limits.ts';
import { createVectorMemory } from './memory.ts';

export type SpaceSize = { bytes: number; vectors: number };

/**
 * `space`: the vectors of a workspace by one model. All calls but `create` and `forget` fail for a space that is not in memory, so a
 * thread that was started again never answers with a part of the vectors.
 */
export type VectorCalls = {
  /** Makes an empty space with room for so many vectors. */
  create(input: { space: string; dimensions: number; vectors: number }): SpaceSize;
  /** Makes room for so many more vectors. */
  reserve(input: { space: string; vectors: number }): SpaceSize;
  add(input: { space: string; rows: Uint8Array }): SpaceSize;
  remove(input: { space: string; documents: readonly string[] }): SpaceSize;
  forget(space: string): void;
  nearest(input: {
    space: string;
    components: Int16Array;
    limit: number;
    documents: readonly string[] | undefined;
  }): NearestPassage[];
};

serveThread<{ kernel: string }, VectorCalls>(async ({ kernel }) => {
  const module = await loadModule(kernel);
  const spaces = new Map<string, ReturnType<typeof createVectorMemory>>();
  const known = (space: string): ReturnType<typeof createVectorMemory> => {
    const memory = spaces.get(space);
    if (memory === undefined) throw new Error('these vectors are not in memory');
    return memory;
  };
  const change = (space: string, apply: (memory: ReturnType<typeof known>) => void): SpaceSize => {
    const memory = known(space);
    apply(memory);
    return { bytes: memory.bytes(), vectors: memory.count() };
  };
  beNice(SEARCH_NICENESS);
  return {
    opened: undefined,
    calls: {
      create({ space, dimensions, vectors }) {
        spaces.set(space, createVectorMemory(module, dimensions));
        return change(space, (memory) => memory.reserve(vectors));
      },
      reserve: ({ space, vectors }) => change(space, (memory) => memory.reserve(vectors)),
      add: ({ space, rows }) => change(space, (memory) => memory.add(rows)),
      remove: ({ space, documents }) => change(space, (memory) => memory.remove(documents)),
      forget(space) {
        // Otherwise the engine collects the memory only after it has made much else.
        if (spaces.delete(space)) Bun.gc(true);
      },
      nearest: ({ space, components, limit, documents }) =>
        known(space).nearest(components, limit, documents),
    },
  };
});
