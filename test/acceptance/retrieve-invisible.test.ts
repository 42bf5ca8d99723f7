// Answers to a question say nothing of documents that the caller does not see: not by a passage, and not by a score.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import type { Library } from './support/library.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting({ CONTENT: 'on' }));
const reader = await setting.people.person();
const stranger = await setting.people.person();

type Retrieved = { passages: { text: string; score: number }[]; engine: string };

const QUESTIONS = [
  'kestrel pump',
  'Is the kestrel of the pump changed every year?',
  'falcon',
  'Wann wird der kestrel gewechselt?',
  'die Pumpen werden gewechselt',
];

async function stored(
  library: Library,
  text: string,
  metadata: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await library.stored(metadata, text);
  expect(await library.whenRead(id)).toMatchObject({ status: 'ready' });
  return id;
}

/** Once its vectors can be found, too. */
async function whenFound(library: Library, text: string): Promise<void> {
  await eventually('the vectors of the document', async () => {
    const { passages, engine } = bodyOf<Retrieved>(
      await library.retrieve({ query: text, mode: 'vectors' }),
      200,
    );
    return engine.startsWith('local-') && passages.some((passage) => passage.text === text);
  });
}

/** Everything that a reader is told, by every way to ask. */
async function answers(): Promise<unknown[]> {
  const { key, library } = reader;
  const all: unknown[] = [];
  for (const query of QUESTIONS) {
    for (const mode of ['words', 'vectors', 'hybrid'])
      all.push(bodyOf(await library.retrieve({ query, mode, explain: true }), 200));
    all.push(bodyOf(await library.retrieve({ query, filter: { file_type: 'eq:txt' } }), 200));
    const path = `/v1/vector_stores/${setting.workspace}/search`;
    all.push(bodyOf(await setting.call('POST', path, { key, json: { query } }), 200));
  }
  return all;
}

test('scores are the same whatever strangers store, archive and bin', async () => {
  const seen = [
    'The pump is changed every year by a mechanic.',
    'A valve of the pump leaks. The kestrel is another bird.',
    'Birds in the park sing in the morning.',
  ];
  await stored(reader.library, seen[0] as string);
  await stored(setting.admin, seen[1] as string, { status: 'public' });
  await stored(stranger.library, seen[2] as string, { status: 'public' });
  for (const text of seen) await whenFound(reader.library, text);
  const before = await answers();

  const hidden = [
    'The kestrel was sold to the falcon. The kestrel knows nothing of it.',
    `A kestrel and a pump. ${'The falcon flies over the city, and nobody sees it. '.repeat(60)}`,
    'Die Pumpen werden jedes Jahr gewechselt, und der Kestrel wird nicht gewechselt, sondern verkauft.',
    'Les pompes sont remplacées chaque année, et le faucon ne le sait pas encore.',
    'Nothing of all this.',
  ];
  const ids: string[] = [];
  for (const text of hidden) ids.push(await stored(stranger.library, text));
  await whenFound(stranger.library, hidden[4] as string);
  expect(await answers()).toEqual(before);

  expectStatus(await stranger.library.bin(ids[0] as string), 204);
  const { name } = await stranger.library.read(ids[1] as string);
  expectStatus(await stranger.library.archive(name), 200);
  expect(await answers()).toEqual(before);

  // What becomes visible counts.
  expectStatus(await stranger.library.patch(ids[2] as string, { status: 'public' }), 200);
  expect(await answers()).not.toEqual(before);
  expectStatus(await stranger.library.patch(ids[2] as string, { status: 'private' }), 200);
  expect(await answers()).toEqual(before);
});
