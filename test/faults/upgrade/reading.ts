// A person who uploads file after file and asks for the word of each until retrieval finds it: a file is read by either version, and
// each that was confirmed is found in the end, once.

import { bodyOf } from '../../acceptance/support/caller.ts';
import { createLibrary, type DocumentRecord, freshName } from '../../acceptance/support/library.ts';
import { createPeople } from '../../acceptance/support/people.ts';
import { postFile } from '../../acceptance/support/uploads.ts';
import type { Client, Desk } from '../seeds/client.ts';
import { LostAnswer } from '../support/caller.ts';

/** Of those that are not found yet; more wait until they are. */
const OPEN_MAX = 8;
const MS_MAX = 60_000;

type File = { word: string; id: string; object: string; confirmedAt: number };

export async function createReadingClient(desk: Desk): Promise<Client> {
  const { call, workspace, random } = desk;
  const { key } = await createPeople(call, { workspace, adminKey: desk.adminKey }).newKey();
  const library = createLibrary(call, { workspace, key });
  const [open, found]: [File[], File[]] = [[], []];

  /** Nothing where the answer was lost or refused, which is counted where all answers are. */
  const upload = async (): Promise<void> => {
    const word = `w${random
      .below(1e9)
      .toString(26)
      .replaceAll(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '')}y`;
    const form = await desk.attempt([201], () => library.presign());
    if (form === undefined) return;
    const fields = bodyOf<Parameters<typeof postFile>[0]>(form, 201);
    const stored = await postFile(fields, `The ${word} is what this file is about.`);
    await stored.body?.cancel();
    const json = { temp_key: fields.fields['key'] ?? '', document_metadata: { name: freshName('txt') } };
    const answer = await desk.attempt([201], () => library.confirm(json));
    if (answer === undefined) return;
    const { id, storage_url: url } = bodyOf<DocumentRecord>(answer, 201);
    const object = url.replace(/^s3:\/\/[^/]+\//, '');
    open.push({ word, id, object, confirmedAt: performance.now() });
  };
  const passagesOf = async ({ word }: File): Promise<string[] | undefined> => {
    const answer = await desk.attempt([200], () => library.retrieve({ query: word, mode: 'words' }));
    if (answer === undefined) return undefined;
    const { passages } = JSON.parse(answer.text) as { passages: { document_id: string; text: string }[] };
    return passages.filter(({ text }) => text.includes(word)).map(({ document_id: id }) => id);
  };
  const isFound = async (file: File): Promise<boolean> => (await passagesOf(file))?.join() === file.id;
  const seek = async (file: File): Promise<void> => {
    if (await isFound(file)) {
      open.splice(open.indexOf(file), 1);
      found.push(file);
    } else if (performance.now() - file.confirmedAt > MS_MAX)
      desk.violate('a file that was confirmed is found', `${file.id} with ${file.word}`);
  };

  return {
    async work() {
      while (!desk.isOver()) {
        if (open.length < OPEN_MAX) await upload();
        const file = random.pick(open);
        if (file !== undefined) await seek(file);
        await desk.pause();
      }
    },
    settle: async () => undefined,
    keep: () => () => undefined,
    async check() {
      const problems: string[] = [];
      for (const file of [...open, ...found])
        if (!(await isFound(file).catch((error) => error instanceof LostAnswer)))
          problems.push(`a file that was confirmed is found once: ${file.id} with ${file.word}`);
      return problems;
    },
    objects: () => [...open, ...found].map(({ object }) => object),
  };
}
