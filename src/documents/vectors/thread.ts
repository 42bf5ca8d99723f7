// The thread that holds the vectors of workspaces in memory, and finds the nearest ones.

import { serveThread } from '../../core/thread.ts';
import { beNice, loadModule } from '../../infra/wasm/worker.ts';
import type { NearestPassage } from './engine.ts';
import { SEARCH_NICENESS } from './limits.ts';
import { createVectorMemory } from './memory.ts';

/**
 * `space`: the vectors of a workspace by one model. `change` and `nearest` fail for a space that is not in memory, so a thread that
 * was started again never answers with a part of the vectors.
 */
export type VectorCalls = {
  create(input: { space: string; dimensions: number }): void;
  /** Makes room for so many more vectors, removes those of documents, or adds rows; returns the new size. */
  change(input: { space: string; added?: number; removed?: readonly string[]; rows?: Uint8Array }): {
    bytes: number;
    vectors: number;
  };
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
  const find = (space: string): ReturnType<typeof createVectorMemory> => {
    const memory = spaces.get(space);
    if (memory === undefined) throw new Error('these vectors are not in memory');
    return memory;
  };
  beNice(SEARCH_NICENESS);
  return {
    opened: undefined,
    calls: {
      create: ({ space, dimensions }) => void spaces.set(space, createVectorMemory(module, dimensions)),
      change({ space, added = 0, removed = [], rows }) {
        const memory = find(space);
        memory.reserve(added);
        if (removed.length > 0) memory.remove(removed);
        if (rows !== undefined) memory.add(rows);
        return { bytes: memory.bytes(), vectors: memory.count() };
      },
      forget(space) {
        // Otherwise the engine collects the memory only after it has made much else.
        if (spaces.delete(space)) Bun.gc(true);
      },
      nearest: ({ space, components, limit, documents }) => find(space).nearest(components, limit, documents),
    },
  };
});
