// Files are to be read while the store or the database is away: reading waits, spends none of a document's three attempts on
// that, and goes on.

import { expect, test } from 'bun:test';
import postgres from 'postgres';
import { bodyOf } from '../../acceptance/support/caller.ts';
import { freshName } from '../../acceptance/support/library.ts';
import { eventually } from '../../support/child.ts';
import { becomesReady, type Setting } from '../support/setting.ts';

/** As many as a document has attempts whose file is to blame. */
const DATABASE_LOSSES = 3;

type Content = { status: string; reason: string | null; passages: number };

const freshWord = (): string =>
  `w${freshName('')
    .slice(0, 8)
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '')}x`;

export function describeReadingOutages(setting: () => Setting): void {
  const library = () => setting().client.library;
  const contentOf = async (id: string): Promise<Content> => bodyOf<Content>(await library().content(id), 200);
  const switchReading = async (id: string, reading: 'on' | 'off'): Promise<void> => {
    expect((await library().putContent(id, { reading })).status).toBe(200);
  };
  const foundBy = async (query: string): Promise<string[]> =>
    bodyOf<{ passages: { document_id: string }[] }>(
      await library().retrieve({ query, mode: 'words' }),
      200,
    ).passages.map(({ document_id: id }) => id);
  const stored = async (word: string): Promise<string> => {
    const { id } = await library().stored({ name: freshName() }, `The ${word} leaks.`);
    expect(await library().whenRead<Content>(id)).toMatchObject({ status: 'ready', passages: 1 });
    return id;
  };

  const outages = {
    hangs: { begin: () => setting().store.pause(), end: () => setting().store.resume(), says: 'in time' },
    'is gone': { begin: () => setting().store.kill(), end: () => setting().store.start(), says: 'reached' },
  };
  for (const [state, { begin, end, says }] of Object.entries(outages)) {
    test(`while the store ${state} documents wait to be read, and are found once it is back`, async () => {
      const { client } = setting();
      await becomesReady(client);
      const [word, former] = [freshWord(), freshWord()];
      const [fresh, known] = [await stored(word), await stored(former)];
      await switchReading(fresh, 'off');
      expect(await foundBy(word)).toEqual([]);
      await begin();
      try {
        for (const id of [fresh, known]) await switchReading(id, 'on');
        await eventually(
          'a reason',
          async () => (await contentOf(fresh)).reason?.includes(says) === true,
          60_000,
        );
        for (const id of [fresh, known]) expect((await contentOf(id)).status).toBe('pending');
        // What was read before answers until it is replaced.
        expect(await foundBy(former)).toEqual([known]);
      } finally {
        await end();
      }
      for (const id of [fresh, known])
        expect(await library().whenRead<Content>(id)).toMatchObject({
          status: 'ready',
          reason: null,
          passages: 1,
        });
      expect([await foundBy(word), await foundBy(former)]).toEqual([[fresh], [known]]);
    });
  }

  test('a database that is lost amid each reading of a document costs it no attempt', async () => {
    const { client, service, store, postgres: server } = setting();
    await becomesReady(client);
    const word = freshWord();
    const id = await stored(word);
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
    /** The reader waits for the file, a moment after its job was begun. */
    const isBegun = async (time: number): Promise<boolean> => {
      const rows = await sql`
        SELECT FROM jobs WHERE payload ->> 'document' = ${id} AND kind = 'documents.read-content' AND attempts >= ${time}`;
      await Bun.sleep(500);
      return rows.length > 0;
    };
    const countWaits = (): number => service.child.output().split('could not be kept').length - 1;
    const before = countWaits();
    try {
      store.pause();
      await switchReading(id, 'on');
      for (let time = 1; time <= DATABASE_LOSSES; time++) {
        await eventually('the reading to begin', () => isBegun(time).catch(() => false), 60_000);
        await server.kill();
        try {
          store.resume();
          await eventually('the text that cannot be kept', () => countWaits() >= before + time, 60_000);
          expect((await client.call('GET', '/healthz')).status).toBe(200);
          if (time < DATABASE_LOSSES) store.pause();
        } finally {
          await server.start();
        }
      }
    } finally {
      store.resume();
      await sql.end({ timeout: 1 });
    }
    await becomesReady(client);
    expect(await library().whenRead<Content>(id)).toMatchObject({
      status: 'ready',
      reason: null,
      passages: 1,
    });
    expect(await foundBy(word)).toEqual([id]);
  });
}
