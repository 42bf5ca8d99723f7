// A workspace of the running service for each language: its documents are uploaded, read and embedded, its questions asked.

import { createCaller } from '../../test/acceptance/support/caller.ts';
import { createLibrary } from '../../test/acceptance/support/library.ts';
import { eventually } from '../../test/support/child.ts';
import type { Collection, Question } from './collection.ts';

export type Mode = 'words' | 'vectors' | 'hybrid';

type Passage = { name: string; text: string };

const UPLOADS_AT_ONCE = 4;
const QUESTIONS_AT_ONCE = 4;
const READ_WITHIN_MS = 1_800_000;

/** Runs all, a few at a time. */
async function each<T>(items: readonly T[], atOnce: number, run: (item: T, index: number) => Promise<void>) {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await run(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

export async function openLibrary(
  { url, adminKey }: { url: string; adminKey: string },
  { language, documents }: Collection,
  modes: readonly Mode[],
) {
  const call = createCaller(url);
  const workspace = `bench-${language}-${crypto.randomUUID().slice(0, 8)}`;
  await call('POST', '/admin/api/workspaces', { key: adminKey, json: { id: workspace } });
  const keys = await call('POST', `/admin/api/workspaces/${workspace}/keys`, {
    key: adminKey,
    json: { name: 'bench', scopes: ['documents:read', 'documents:write'], user_email: 'bench@example.com' },
  });
  const library = createLibrary(call, { workspace, key: (JSON.parse(keys.text) as { key: string }).key });
  const ids: string[] = [];
  await each(documents, UPLOADS_AT_ONCE, async (text, index) => {
    ids.push((await library.stored({ name: nameOf(index) }, text)).id);
  });
  await each(ids, UPLOADS_AT_ONCE, async (id) => {
    await eventually(
      'a document to be read',
      async () => {
        const { text } = await library.content(id);
        return (JSON.parse(text) as { status: string }).status === 'pending' ? undefined : true;
      },
      READ_WITHIN_MS,
    );
  });

  const ask = async (query: string, mode: Mode, limit: number) => {
    const answer = await library.retrieve({ query, mode, limit });
    if (answer.status !== 200) throw new Error(`a retrieval answers ${answer.status}: ${answer.text}`);
    return JSON.parse(answer.text) as { passages: Passage[]; engine: string };
  };
  if (modes.some((mode) => mode !== 'words')) {
    const embedded = async (): Promise<boolean> => {
      const summary = `/admin/api/workspaces/${workspace}/content/summary`;
      const { text } = await call('GET', summary, { key: adminKey });
      const { without_vectors: left } = JSON.parse(text) as { without_vectors: number };
      return left === 0 && !(await ask('a', 'vectors', 1)).engine.startsWith('postgres');
    };
    await eventually('the documents to be embedded', embedded, READ_WITHIN_MS);
  }

  return {
    /** The places, from 0, of the first passages that answer; undefined for those that are not among the first five. */
    async places(questions: readonly Question[], mode: Mode): Promise<(number | undefined)[]> {
      const places: (number | undefined)[] = [];
      await each(questions, QUESTIONS_AT_ONCE, async (question, index) => {
        const { passages } = await ask(question.text, mode, 5);
        const place = passages.findIndex((passage) => answersIt(passage, question));
        places[index] = place === -1 ? undefined : place;
      });
      return places;
    },
  };
}

const nameOf = (document: number): string => `${document}.txt`;

/** The passage is of the document, and has one of the answers word by word where they are known. */
function answersIt({ name, text }: Passage, { document, answers }: Question): boolean {
  const plain = (each: string): string => each.replaceAll(/\s+/g, ' ').trim();
  const known = answers.length === 0 || answers.some((answer) => plain(text).includes(plain(answer)));
  return name === nameOf(document) && known;
}
