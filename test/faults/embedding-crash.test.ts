// The service is killed at random while it embeds passages, while texts are replaced, a document is purged, and another model
// comes: in the end each passage has exactly one vector, of its own text, by the last model, and a purged document has none.

import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary, freshName, type Library } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import type { ModelsFile } from '../support/gateway.ts';
import { startMockUpstream } from '../support/mock-upstream.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain } from './support/caller.ts';
import { createRandom, seedOfRun } from './support/random.ts';

const DOCUMENTS = 8;
const KILLS = 4;
const BETWEEN_KILLS_MS = { from: 30, to: 900 };
const PASSAGES = { from: 60, to: 200 };

/** Texts of which each paragraph is a passage. */
const PARAGRAPH = 'A sentence of the text that is told apart from every other. '.repeat(24).trim();
const textOf = (name: string, paragraphs: number): string =>
  Array.from({ length: paragraphs }, (_, index) => `# ${name} ${index}\n\n${PARAGRAPH}`).join('\n\n');

const modelsFile = (url: string, model: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${url}/v1`, retries: 0 } },
  // A call takes long enough for a kill to come within it.
  models: { [model]: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: 'slow+ms=20' }] } },
  defaults: { embeddings: model },
});

test('no vector is doubled or missing after kills, and none is left of a purged document', async () => {
  const random = createRandom(seedOfRun());
  const database = await testDatabase();
  await using mock = await startMockUpstream();
  const dataDir = freshFolder();
  const models = join(dataDir, 'models.yaml');
  const configure = (model: string): void =>
    writeFileSync(models, JSON.stringify(modelsFile(mock.url, model)));
  const start = (): Promise<RunningService> =>
    startService({
      dataDir,
      environment: {
        CONTENT: 'on',
        DATABASE_URL: database.url,
        MODELS_CONFIG: models,
      },
    });
  const libraryOf = ({ url }: RunningService): Library =>
    createLibrary(asksAgain(createCaller(url)), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  configure('first');
  let service = await start();
  try {
    const ids: string[] = [];
    for (let number = 0; number < DOCUMENTS; number++) {
      const text = textOf(`File ${number}`, random.between(PASSAGES));
      ids.push((await libraryOf(service).stored({ name: freshName('md') }, text)).id);
    }
    const purged = ids[0] ?? '';
    for (let kill = 0; kill < KILLS; kill++) {
      const library = libraryOf(service);
      const text = textOf(`Given ${kill}`, random.between(PASSAGES));
      expectStatus(await library.putContent(ids[1 + kill] ?? '', { text, format: 'markdown' }), 200);
      if (kill === 1) {
        expectStatus(await library.bin(purged), 204);
        expectStatus(await library.purge(purged), 204);
      }
      await Bun.sleep(random.between(BETWEEN_KILLS_MS));
      service.child.kill('SIGKILL');
      await service.child.exited;
      if (kill === 2) configure('second');
      service = await start();
    }
    const { sql } = database;
    await eventually(
      'the second model to answer, and all vectors of the first to be deleted',
      async () => {
        const [row] = await sql<{ waiting: number; answering: string | null; former: number }[]>`
          SELECT (SELECT count(*)::int FROM jobs WHERE kind LIKE 'documents.%' AND kind <> 'documents.delete-object') AS waiting,
            (SELECT name FROM document_vector_workspaces JOIN document_vector_models m ON m.id = model_id
              WHERE workspace_id = ${WORKSPACE}) AS answering,
            (SELECT count(*)::int FROM document_vectors JOIN document_vector_models m ON m.id = model_id
              WHERE name NOT LIKE 'second%') AS former`;
        return row?.waiting === 0 && row.answering?.startsWith('second') && row.former === 0;
      },
      180_000,
    );
    const passages = await sql<{ id: number; document: string; heading: string | null; text: string }[]>`
      SELECT id, document_id AS document, heading, text FROM document_passages`;
    const vectors = await sql<{ id: number; hash: string }[]>`
      SELECT passage_id AS id, encode(text_hash, 'hex') AS hash FROM document_vectors`;
    expect(new Set(passages.map(({ document }) => document))).toEqual(new Set(ids.slice(1)));
    expect(vectors.length).toBe(passages.length);
    const hashes = new Map(vectors.map(({ id, hash }) => [id, hash]));
    for (const { id, heading, text } of passages) {
      const embedded = heading === null ? text : `${heading}\n${text}`;
      const hash = createHash('sha256').update(embedded).digest('hex').slice(0, 32);
      expect([id, hashes.get(id)]).toEqual([id, hash]);
    }
    const complete = await sql<{ document: string; passages: number }[]>`
      SELECT document_id AS document, passages FROM document_embeddings`;
    expect(complete.map(({ document }) => document).sort()).toEqual(ids.slice(1).sort());
    expect(complete.reduce((sum, each) => sum + each.passages, 0)).toBe(passages.length);
  } finally {
    await service[Symbol.asyncDispose]();
    await database.drop();
  }
});
