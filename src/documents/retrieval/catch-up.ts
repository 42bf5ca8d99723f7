// Words of passages that have none, or words of an older form: an earlier version kept them, or the database server has other
// dictionaries since. They are made of the passages themselves, a few at a time, so that requests are answered meanwhile.

import { sleep } from '../../core/wait.ts';
import { FIRST_ID } from '../rows.ts';
import { CATCH_UP_PASSAGES } from './limits.ts';
import { passageWordsOf } from './segmentation.ts';
import type { WithoutWords, WordStore } from './word-store.ts';

const DOCUMENTS = 100;
/** How long passages are divided into words between two turns of the event loop. */
const SLICE_MS = 1;

export function createWordCatchUp(store: WordStore) {
  return async (signal: AbortSignal): Promise<void> => {
    for (let after = FIRST_ID; !signal.aborted; ) {
      const documents = await store.withoutWords(after, DOCUMENTS);
      for (const document of documents) {
        if (signal.aborted) return;
        await catchUp(store, document, signal);
      }
      const last = documents.at(-1);
      if (documents.length < DOCUMENTS || last === undefined) return;
      after = last.id;
    }
  };
}

async function catchUp(store: WordStore, document: WithoutWords, signal: AbortSignal): Promise<void> {
  const parts: { passageIds: string[]; words: string[] }[] = [];
  for (let from = 0; !signal.aborted; from += CATCH_UP_PASSAGES) {
    const passages = await store.passagesOf(document.id, from, CATCH_UP_PASSAGES);
    const words: string[] = [];
    let endsAt = performance.now();
    for (const passage of passages) {
      words.push(passageWordsOf(passage));
      if (performance.now() < endsAt) continue;
      await sleep(1, signal);
      endsAt = performance.now() + SLICE_MS;
    }
    if (passages.length > 0) parts.push({ passageIds: passages.map(({ passageId }) => passageId), words });
    if (passages.length < CATCH_UP_PASSAGES) return store.replace(document, parts);
  }
}
