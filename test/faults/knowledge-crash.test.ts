// The service is killed at random while it reads, embeds and replaces texts, and while documents go to the bin and are purged:
// in the end the contents, retrieval and the export agree. No passage is doubled or missing, none is left of a purged
// document, and a copy that has followed the export all the time has what a fresh one has.

import { expect, test } from 'bun:test';
import { bodyOf, type Caller, createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary, freshName, type Library } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain } from './support/caller.ts';
import { createRandom, type Random, seedOfRun } from './support/random.ts';

const DOCUMENTS = 10;
const KILLS = 5;
const CHANGES_BEFORE_A_KILL = 6;
const BETWEEN_KILLS_MS = { from: 30, to: 700 };

/** Of each text a word that no other text has, in each of its passages. */
type Expected = { word: string; passages: number; binned: boolean };

const freshWord = (): string =>
  `w${crypto
    .randomUUID()
    .slice(0, 8)
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '')}x`;
const SENTENCES = 'A sentence of the text that is long enough for a passage. '.repeat(24).trim();
const textOf = ({ word, passages }: Expected): string =>
  Array.from({ length: passages }, (_, at) => `# ${word} ${at}\n\n${word} ${SENTENCES}`).join('\n\n');

type Copy = { cursor: string; passages: Map<string, Map<number, { text: string; embedded: boolean }>> };

type Line = {
  document_id: string;
  deleted?: true;
  passage: number;
  text: string;
  embedding?: number[];
  next_cursor?: string;
  more?: boolean;
};

const newCopy = (): Copy => ({ cursor: '', passages: new Map() });

/** Applies a page, also the part of one that breaks off. `lost`: the page did not come. */
async function followOnce(url: string, copy: Copy, limit: number): Promise<'more' | 'end' | 'lost'> {
  const query = new URLSearchParams({ cursor: copy.cursor, limit: `${limit}`, include: 'embeddings' });
  let rest = '';
  try {
    const page = await fetch(`${url}/v1/${WORKSPACE}/passages?${query}`, {
      headers: { APIKeyHeader: BOOTSTRAP_KEY },
    });
    if (page.status !== 200 || page.body === null) return 'lost';
    for await (const chunk of page.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.map((text) => JSON.parse(text) as Line)) {
        if (line.next_cursor !== undefined) {
          copy.cursor = line.next_cursor;
          return line.more === true ? 'more' : 'end';
        }
        if (line.deleted) copy.passages.delete(line.document_id);
        else {
          const passages = copy.passages.get(line.document_id) ?? new Map();
          passages.set(line.passage, { text: line.text, embedded: line.embedding !== undefined });
          copy.passages.set(line.document_id, passages);
        }
      }
    }
  } catch {
    // The service was killed; the page is asked for again.
  }
  // Without a cursor, a copy begins with nothing.
  if (copy.cursor === '') copy.passages.clear();
  return 'lost';
}

/** Follows the export to its end while nothing is killed. What a busy machine refuses is asked for again. */
const followToEnd = (url: string, copy: Copy, limit: number): Promise<unknown> =>
  eventually('the end of the export', async () => {
    for (;;) {
      const followed = await followOnce(url, copy, limit);
      if (followed !== 'more') return followed === 'end';
    }
  });

/** One change that the service acknowledges, and what is to be seen of it in the end. */
async function changeOne(random: Random, library: Library, expected: Map<string, Expected>): Promise<void> {
  const id = random.pick([...expected.keys()]) ?? '';
  const before = expected.get(id);
  if (before === undefined) return;
  const roll = random.below(10);
  if (before.binned && roll < 3) {
    expectStatus(await library.purge(id), 204);
    expected.delete(id);
  } else if (before.binned) {
    expectStatus(await library.restore(id), 200);
    expected.set(id, { ...before, binned: false });
  } else if (roll < 4) {
    expectStatus(await library.bin(id), 204);
    expected.set(id, { ...before, binned: true });
  } else if (roll < 5) {
    expectStatus(await library.patch(id, { status: random.chance(0.5) ? 'public' : 'private' }), 200);
  } else {
    const after = { word: freshWord(), passages: random.between({ from: 1, to: 30 }), binned: false };
    expectStatus(await library.putContent(id, { text: textOf(after), format: 'markdown' }), 200);
    expected.set(id, after);
  }
}

/** The passages that a search finds, as `document/passage`'s texts. */
async function retrieve(
  call: Caller,
  query: string,
  mode: string,
): Promise<{ document_id: string; text: string; start: number }[]> {
  const path = `/v1/${WORKSPACE}/retrieve`;
  const answer = await call('POST', path, {
    headers: { APIKeyHeader: BOOTSTRAP_KEY },
    json: { query, mode, limit: 50 },
  });
  return bodyOf<{ passages: { document_id: string; text: string; start: number }[] }>(answer, 200).passages;
}

test('after kills amid reading, embedding and replacing, contents, retrieval and the export agree, without anything of purged documents', async () => {
  const seed = seedOfRun();
  console.log(`FAULT_SEED=${seed}`);
  const random = createRandom(seed);
  const database = await testDatabase();
  const { sql } = database;
  const dataDir = freshFolder();
  const start = (): Promise<RunningService> =>
    startService({ dataDir, environment: { CONTENT: 'on', DATABASE_URL: database.url } });
  const libraryOf = ({ url }: RunningService): Library =>
    createLibrary(asksAgain(createCaller(url)), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  let service = await start();
  let over = false;
  const copy = newCopy();
  const followed = (async () => {
    while (!over)
      if ((await followOnce(service.url, copy, random.between({ from: 1, to: 40 }))) !== 'more')
        await Bun.sleep(20);
  })();
  try {
    const expected = new Map<string, Expected>();
    const words = new Set<string>();
    const library = libraryOf(service);
    for (let number = 0; number < DOCUMENTS; number++) {
      const text = { word: freshWord(), passages: random.between({ from: 1, to: 30 }), binned: false };
      const { id } = await library.stored({ name: freshName('md') }, textOf(text));
      expected.set(id, text);
    }
    const all = [...expected.keys()];
    for (let kill = 0; kill < KILLS; kill++) {
      for (let change = 0; change < CHANGES_BEFORE_A_KILL; change++) {
        for (const { word } of expected.values()) words.add(word);
        await changeOne(random, libraryOf(service), expected);
      }
      await Bun.sleep(random.between(BETWEEN_KILLS_MS));
      service.child.kill('SIGKILL');
      await service.child.exited;
      service = await start();
    }
    await eventually(
      'all documents to be read and embedded',
      async () =>
        (
          await sql`
            SELECT FROM document_contents c WHERE state = 'pending' OR NOT EXISTS (
              SELECT FROM document_embeddings e WHERE e.document_id = c.document_id AND e.revision = c.revision)`
        ).length === 0,
      180_000,
    );
    over = true;
    await followed;
    const visible = [...expected].filter(([, { binned }]) => !binned);
    const inOrder = ({ word, passages }: Expected) =>
      Array.from({ length: passages }, (_, at) => [at, expect.stringContaining(`${word} ${at}`)]);
    const shape = (of: Copy) =>
      Object.fromEntries(
        [...of.passages].map(([id, passages]) => [
          id,
          [...passages]
            .toSorted(([a], [b]) => a - b)
            .map(([at, { text, embedded }]) => [at, embedded ? text : null]),
        ]),
      );
    // The export: the copy that has followed, and a fresh one.
    await followToEnd(service.url, copy, 7);
    const fresh = newCopy();
    await followToEnd(service.url, fresh, 1000);
    const wanted = Object.fromEntries(visible.map(([id, text]) => [id, inOrder(text)]));
    expect({ seed, passages: shape(fresh) }).toEqual({ seed, passages: wanted });
    expect({ seed, passages: shape(copy) }).toEqual({ seed, passages: shape(fresh) });
    // Contents: those of documents in the bin as well, and of no other.
    const current = libraryOf(service);
    for (const id of all) {
      const text = expected.get(id);
      const answer = await current.content(id);
      if (text === undefined) expectStatus(answer, 404);
      else expect(bodyOf<object>(answer, 200)).toMatchObject({ status: 'ready', passages: text.passages });
    }
    const left = await sql<{ id: string }[]>`
      SELECT document_id AS id FROM document_contents UNION SELECT document_id FROM document_passages
      UNION SELECT document_id FROM document_content_parts UNION SELECT document_id FROM document_vectors
      UNION SELECT document_id FROM document_embeddings`;
    expect(left.map(({ id }) => id).toSorted()).toEqual([...expected.keys()].toSorted());
    // Retrieval: by the word of a text all of its passages, once; by others nothing of the kind.
    const call = asksAgain(createCaller(service.url));
    for (const word of words) {
      const owner = visible.find(([, text]) => text.word === word);
      const found = (await retrieve(call, word, 'words')).filter(({ text }) => text.includes(word));
      expect({
        seed,
        word,
        starts: new Set(found.map(({ start }) => start)).size,
        documents: new Set(found.map(({ document_id: id }) => id)),
      }).toEqual({
        seed,
        word,
        starts: owner?.[1].passages ?? 0,
        documents: new Set(owner === undefined ? [] : [owner[0]]),
      });
    }
    for (const mode of ['words', 'vectors', 'hybrid']) {
      const found = await retrieve(call, 'a sentence of the text', mode);
      const places = found.map(({ document_id: id, start }) => `${id} ${start}`);
      expect(new Set(places).size).toBe(places.length);
      expect(found.filter(({ document_id: id }) => !visible.some(([own]) => own === id))).toEqual([]);
    }
  } finally {
    over = true;
    await service[Symbol.asyncDispose]();
    await database.drop();
  }
});
