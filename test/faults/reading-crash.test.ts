// The service is killed at random while it reads documents, and while texts are replaced and documents purged: in the end
// each document has exactly the passages of its last text, and a purged one has none.

import { expect, test } from 'bun:test';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary, freshName, type Library } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain } from './support/caller.ts';
import { createRandom, seedOfRun } from './support/random.ts';

const DOCUMENTS = 16;
const KILLS = 4;
const BETWEEN_KILLS_MS = { from: 30, to: 700 };

/** Texts of which each paragraph is a passage, whose number can be counted. */
const PARAGRAPH = 'A sentence of the text that is told apart from every other. '.repeat(24).trim();
const textOf = (name: string, paragraphs: number): string =>
  Array.from({ length: paragraphs }, (_, index) => `# ${name} ${index}\n\n${PARAGRAPH}`).join('\n\n');

test('no passage is doubled or missing after kills, and none is left of a purged document', async () => {
  const random = createRandom(seedOfRun());
  const database = await testDatabase();
  const dataDir = freshFolder();
  const start = (): Promise<RunningService> =>
    startService({ dataDir, environment: { CONTENT: 'on', DATABASE_URL: database.url } });
  const libraryOf = ({ url }: RunningService): Library =>
    createLibrary(asksAgain(createCaller(url)), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  let service = await start();
  try {
    const expected = new Map<string, number>();
    const library = libraryOf(service);
    for (let number = 0; number < DOCUMENTS; number++) {
      const paragraphs = random.between({ from: 1, to: 40 });
      const { id } = await library.stored({ name: freshName('md') }, textOf('File', paragraphs));
      expected.set(id, paragraphs);
    }
    const ids = [...expected.keys()];
    const purged = ids[0] ?? '';
    for (let kill = 0; kill < KILLS; kill++) {
      const current = libraryOf(service);
      const id = ids[1 + kill] ?? '';
      const paragraphs = random.between({ from: 1, to: 40 });
      expectStatus(
        await current.putContent(id, { text: textOf('Given', paragraphs), format: 'markdown' }),
        200,
      );
      expected.set(id, paragraphs);
      if (kill === 1) {
        expectStatus(await current.bin(purged), 204);
        expectStatus(await current.purge(purged), 204);
        expected.delete(purged);
      }
      await Bun.sleep(random.between(BETWEEN_KILLS_MS));
      service.child.kill('SIGKILL');
      await service.child.exited;
      service = await start();
    }
    const { sql } = database;
    await eventually(
      'all documents to be read',
      async () => (await sql`SELECT FROM document_contents WHERE state = 'pending'`).length === 0,
      120_000,
    );
    const rows = await sql<
      { id: string; state: string; passages: number; found: number; last: number; parts: number }[]
    >`
      SELECT c.document_id AS id, c.state, c.passages,
        (SELECT count(*)::int FROM document_passages p WHERE p.document_id = c.document_id) AS found,
        (SELECT max(passage) FROM document_passages p WHERE p.document_id = c.document_id) AS last,
        (SELECT count(*)::int FROM document_content_parts p WHERE p.document_id = c.document_id AND format = 'text') AS parts
      FROM document_contents c`;
    const found = new Map(rows.map(({ id, ...row }) => [id, row]));
    expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [id, paragraphs] of expected) {
      expect([id, found.get(id)]).toMatchObject([
        id,
        { state: 'ready', passages: paragraphs, found: paragraphs, last: paragraphs - 1 },
      ]);
      expect(found.get(id)?.parts).toBe(Math.ceil(textOf('Given', paragraphs).length / 65_536) || 1);
    }
    expect((await sql`SELECT FROM document_passages WHERE document_id = ${purged}`).length).toBe(0);
  } finally {
    await service[Symbol.asyncDispose]();
    await database.drop();
  }
});
