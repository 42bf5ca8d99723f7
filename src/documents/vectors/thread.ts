// The code of a thread that holds a share of the vectors, and scans it: those of each n-th document by its id, of n threads.

import { serveThread } from '../../core/thread.ts';
import { askForHugePages } from '../../infra/wasm/huge-pages.ts';
import { beNice } from '../../infra/wasm/niceness.ts';
import type { Kernels } from './kernels.ts';
import { SCAN_NICENESS } from './limits.ts';
import { createVectorMemory, rowBytes } from './memory.ts';
import type { Place } from './place.ts';
import type { Scan } from './scratch.ts';

export type VectorThreadSettings = {
  module: WebAssembly.Module;
  bytesMax: number;
  /** Which of how many threads it is. */
  share: { index: number; count: number };
};

/** In bytes; of the space, and of all. */
type Size = { space: number; bytes: number; vectors: number };

/** Each answers with the size of the memory that is in use afterwards. */
export type VectorCalls = {
  /** Takes those of the rows that are its share, perhaps none. */
  add(input: { space: string; dimensions: number; rows: Uint8Array }): Size;
  remove(input: { space: string; documents: readonly string[] }): Size;
  forget(input: { space: string }): Size;
  scan(input: { space: string; scans: readonly Scan[] }): Place[][];
};

/** The last byte of a document's id is random. */
const SHARING_BYTE = 15;

serveThread<VectorThreadSettings, VectorCalls>(({ module, bytesMax, share }) => {
  const kernels = new WebAssembly.Instance(module).exports as unknown as Kernels;
  const memory = createVectorMemory(kernels, bytesMax, askForHugePages);
  beNice(SCAN_NICENESS);
  return {
    opened: undefined,
    calls: {
      add({ space, dimensions, rows }) {
        memory.add(space, dimensions, new Uint8Array(0));
        const step = rowBytes(dimensions);
        for (let start = 0; start < rows.length; start += step)
          if ((rows[start + SHARING_BYTE] ?? 0) % share.count === share.index)
            memory.add(space, dimensions, rows.subarray(start, start + step));
        return memory.size(space);
      },
      remove({ space, documents }) {
        memory.remove(space, documents);
        return memory.size(space);
      },
      forget({ space }) {
        memory.forget(space);
        return memory.size(space);
      },
      scan: ({ space, scans }) => memory.scan(space, scans),
    },
  };
});
