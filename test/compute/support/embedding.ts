// The area as its users in the service have it: a pool with the real threads.

import { createCompute } from '../../../src/compute/index.ts';
import type { EmbedTexts } from '../../../src/core/embed-texts.ts';
import { silentLog } from '../../support/database.ts';

export type Embedding = AsyncDisposable & {
  embed: EmbedTexts;
  rows(texts: readonly string[]): Promise<Float32Array[]>;
};

export async function startEmbedding(threads = 2): Promise<Embedding> {
  const { embed, jobs } = createCompute({
    settings: { threads, queueMax: 1024 },
    shutdown: new AbortController().signal,
    log: silentLog,
  });
  for (const job of jobs) await job.start();
  return {
    embed,
    async rows(texts) {
      const vectors = await embed(texts, new AbortController().signal);
      return texts.map((_, index) => vectors.subarray(index * 384, (index + 1) * 384));
    },
    async [Symbol.asyncDispose]() {
      for (const job of jobs) await job.stop();
    },
  };
}
