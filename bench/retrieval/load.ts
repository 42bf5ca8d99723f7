// The database that retrieval is measured on: documents as bench/search makes them, each with passages, words and vectors.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL_EMBEDDING_MODEL } from '../../src/core/embed-texts.ts';
import { createLexemes, toVector } from '../../src/documents/retrieval/lexemes.ts';
import { OCCURRENCES_MAX } from '../../src/documents/retrieval/limits.ts';
import { createStemmer, type Stems, unstemmed } from '../../src/documents/retrieval/stems.ts';
import { openDataFolder } from '../../src/embedded/data-folder.ts';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { openCopies, strip } from '../search/bulk.ts';
import { identityOf, type Workspace } from '../search/corpus.ts';
import { BULK_SETTINGS, ensureCorpus, step } from '../search/load.ts';
import { ranksAt, WORDS } from './text.ts';

const MARK = 'bench-passages.json';
export const PASSAGES_A_DOCUMENT = 50;
const COLUMNS = {
  document_contents:
    'document_id, workspace_id, state, language, characters, passages, words_revision, words_form',
  document_passages: 'id, document_id, workspace_id, passage, text, starts_at, ends_at',
  document_passage_words: 'passage_id, document_id, workspace_id, length, words',
  document_changes: 'workspace_id, document_id, first_sequence, sequence, content_sequence',
};
/** Those that grow with the passages: their indexes are made at the end. */
const TABLES = [
  'document_contents',
  'document_passages',
  'document_passage_words',
  'document_vectors',
  'document_embeddings',
];

/** Makes sure that the folder holds the workspace's documents with their passages; `keep` is that of `ensureCorpus`. */
export async function ensurePassages(
  folder: string,
  workspace: Workspace,
  options: { keep: boolean },
): Promise<void> {
  await ensureCorpus(folder, [workspace], options);
  const mark = join(folder, MARK);
  const wanted = JSON.stringify(workspace);
  if (existsSync(mark)) {
    if (readFileSync(mark, 'utf8') === wanted) return;
    throw new Error(`${folder} holds other passages, or a part of them: delete it`);
  }
  writeFileSync(mark, 'unfinished');
  const data = openDataFolder(folder);
  const directory = join(folder, 'postgres');
  const server = await startPostgres({ directory, log: silentLog, settings: BULK_SETTINGS });
  const sql = connectPostgres({
    url: server.url,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    const restore = await strip(sql, TABLES);
    await step('passages and words', () => copyPassages(sql, server.url, workspace));
    await step('vectors', () => insertVectors(sql, workspace));
    await step('indexes', restore);
    await step('vacuum', () => sql.unsafe('VACUUM (ANALYZE)'));
    await sql.unsafe('CHECKPOINT');
    writeFileSync(mark, wanted);
  } finally {
    await sql.end();
    await server.stop();
    data.close();
  }
}

async function copyPassages(sql: Sql, url: string, workspace: Workspace): Promise<void> {
  const stemmer = createStemmer();
  const form = await stemmer.form(sql);
  const [stems = unstemmed] = await stemmer.stem(sql, ['en'], WORDS);
  const toWords = createToWords(createLexemes(workspace.id), stems);
  const copies = await openCopies(url, COLUMNS);
  for (let document = 0; document < workspace.documents; document++) {
    const { id } = identityOf(workspace, document);
    let [passages, words, characters] = ['', '', 0];
    for (let place = 0; place < PASSAGES_A_DOCUMENT; place++) {
      const number = document * PASSAGES_A_DOCUMENT + place;
      const ranks = ranksAt(number);
      const text = ranks.map((rank) => WORDS[rank]).join(' ');
      const until = characters + text.length;
      passages += `${number + 1}\t${id}\t${workspace.id}\t${place}\t${text}\t${characters}\t${until}\n`;
      words += `${number + 1}\t${id}\t${workspace.id}\t${ranks.length}\t${toWords(ranks)}\n`;
      characters = until + 1;
    }
    await copies.add({
      document_contents: `${id}\t${workspace.id}\tready\ten\t${characters}\t${PASSAGES_A_DOCUMENT}\t1\t${form}\n`,
      document_passages: passages,
      document_passage_words: words,
      document_changes: `${workspace.id}\t${id}\t${document + 1}\t${document + 1}\t${document + 1}\n`,
    });
  }
  await copies.end();
  const passages = workspace.documents * PASSAGES_A_DOCUMENT;
  await sql`SELECT setval(pg_get_serial_sequence('document_passages', 'id'), ${passages})`;
  await sql`INSERT INTO document_feeds (workspace_id, last_sequence) VALUES (${workspace.id}, ${workspace.documents})`;
}

/** Vectors of random components: how near they are to a question costs a search nothing. */
async function insertVectors(sql: Sql, workspace: Workspace): Promise<void> {
  const { id: model, dimensions } = LOCAL_EMBEDDING_MODEL;
  if (dimensions !== 6 * 64) throw new Error('a vector is made of six digests of 64 bytes');
  await sql`INSERT INTO document_vector_models (name, dimensions) VALUES (${model}, ${dimensions})`;
  await sql`
    INSERT INTO document_vector_workspaces SELECT ${workspace.id}, id FROM document_vector_models WHERE name = ${model}`;
  await sql`
    INSERT INTO document_embeddings (document_id, model_id, workspace_id, revision, passages, sequence)
    SELECT document_id, model_id, workspace_id, 1, ${PASSAGES_A_DOCUMENT}, sequence
    FROM document_changes JOIN document_vector_workspaces USING (workspace_id)`;
  await sql`
    INSERT INTO document_vectors (document_id, model_id, passage_id, text_hash, vector)
    SELECT document_id, model_id, id, decode(md5(id::text), 'hex'), '\\x0ad7233b'::bytea || sha512(a) || sha512(a || 'b')
      || sha512(a || 'c') || sha512(a || 'd') || sha512(a || 'e') || sha512(a || 'f')
    FROM document_passages JOIN document_vector_workspaces USING (workspace_id), LATERAL (SELECT id::text::bytea AS a) seeds`;
}

/** As `toVector` makes them of one word after the other, each of which is looked at once: a million passages in a tenth of the time. */
function createToWords(
  lexemes: ReturnType<typeof createLexemes>,
  stems: Stems,
): (ranks: readonly number[]) => string {
  const forms: string[] = [];
  const known = new Map<string, number>();
  const numbersOf = (word: string): number[] =>
    (toVector(lexemes, [word], stems).match(/'[^']+'/g) ?? []).map((form) =>
      known.getOrInsertComputed(form, () => forms.push(form) - 1),
    );
  const byRank = new Map<number, number[]>();
  const counts = new Uint8Array(2 * WORDS.length);
  return (ranks) => {
    const found: number[] = [];
    for (const rank of ranks)
      for (const form of byRank.getOrInsertComputed(rank, () => numbersOf(WORDS[rank] ?? ''))) {
        const count = counts[form] ?? 0;
        if (count === 0) found.push(form);
        if (count < OCCURRENCES_MAX) counts[form] = count + 1;
      }
    const parts = found.map((form) => `${forms[form]}${POSITIONS[counts[form] ?? 0]}`);
    for (const form of found) counts[form] = 0;
    return parts.join(' ');
  };
}

/** By how often a word occurs. */
const POSITIONS = Array.from(
  { length: OCCURRENCES_MAX + 1 },
  (_, count) => `:${Array.from({ length: count }, (_, index) => index + 1).join()}`,
);
