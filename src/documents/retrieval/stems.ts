// Stems of words by the Snowball dictionaries of the database server.

import { LRUCache } from 'lru-cache';
import { createPauses } from '../../core/time-slices.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import { STEMS_AT_ONCE, STEMS_KEPT_MAX } from './limits.ts';
import { hasStem } from './segmentation.ts';

/** Languages (ISO 639-1) with a dictionary. A server of an earlier version lacks some of them. */
export const STEMMED_LANGUAGES: readonly string[] =
  'ar ca da de el en es et eu fi fr ga hi hu hy id it lt nb ne nl nn no pt ro ru sr sv ta tr yi'.split(' ');

/** To be raised when words are divided or digested in another way: passages of an older form are done again. */
const FORM = 1;

/** A word's stem; the word itself in a language without a dictionary; null for one that carries no meaning ("the"). */
export type Stems = (word: string) => string | null;

/** Of a language without a dictionary. */
export const unstemmed: Stems = (word) => word;

export type Stemmer = ReturnType<typeof createStemmer>;

const names = new Intl.DisplayNames('en', { type: 'language' });

/** Norwegian has one dictionary for Bokmål and Nynorsk. */
const dictionaryOf = (language: string | null): string =>
  STEMMED_LANGUAGES.includes(language ?? '')
    ? (names.of(language ?? '')?.split(' ')[0] ?? '').toLowerCase()
    : '';

export function createStemmer() {
  // With `max`, the cache would allocate arrays of that length at once.
  const size = { maxSize: STEMS_KEPT_MAX, sizeCalculation: () => 1 };
  const kept = new LRUCache<string, { stem: string | null }>(size);
  let server: ReturnType<typeof readServer> | undefined;

  const askServer = (sql: Transaction): ReturnType<typeof readServer> => {
    server ??= readServer(sql);
    server.catch(() => {
      server = undefined;
    });
    return server;
  };

  async function stemsBy(dictionary: string, sql: Transaction, words: Iterable<string>): Promise<Stems> {
    const stems = new Map<string, string | null>();
    let unknown: string[] = [];
    const ask = async (): Promise<void> => {
      if (unknown.length === 0) return;
      const asked = unknown;
      unknown = [];
      const rows = await sql<{ word: string; stem: string | null }[]>`
        SELECT word, coalesce(stems[1], CASE WHEN stems IS NULL THEN word END) AS stem
        FROM (SELECT word, ts_lexize(${`pg_catalog.${dictionary}_stem`}::regdictionary, word) AS stems
          FROM unnest(${asked}::text[]) AS asked (word)) stemmed`;
      for (const { word, stem } of rows) {
        stems.set(word, stem);
        kept.set(`${dictionary} ${word}`, { stem });
      }
    };
    const pause = createPauses();
    for (const word of words) {
      const known = hasStem(word) ? kept.get(`${dictionary} ${word}`) : { stem: word };
      if (known !== undefined) stems.set(word, known.stem);
      else if (unknown.push(word) >= STEMS_AT_ONCE) await ask();
      await pause();
    }
    await ask();
    return (word) => stems.get(word) ?? null;
  }

  return {
    /** The form of words made with the server's dictionaries: those of another major version may differ. */
    form: async (sql: Transaction): Promise<number> => (await askServer(sql)).form,

    /** The stems of these words in each of the languages. The server is asked for those that are not at hand. */
    async stem(
      sql: Transaction,
      languages: readonly (string | null)[],
      words: Iterable<string>,
    ): Promise<Stems[]> {
      const { dictionaries } = await askServer(sql);
      const asked = [...words];
      return Promise.all(
        languages.map((language) => {
          const dictionary = dictionaryOf(language);
          return dictionaries.has(dictionary) ? stemsBy(dictionary, sql, asked) : unstemmed;
        }),
      );
    },
  };
}

async function readServer(sql: Transaction) {
  const rows = await sql<{ name: string; version: number }[]>`
    SELECT dictname AS name, current_setting('server_version_num')::int AS version FROM pg_ts_dict
    WHERE dictnamespace = 'pg_catalog'::regnamespace AND dictname LIKE '%\\_stem'`;
  return {
    form: FORM * 1000 + Math.floor((rows[0]?.version ?? 0) / 10_000),
    dictionaries: new Set(rows.map(({ name }) => name.slice(0, -'_stem'.length))),
  };
}
