// Stems of words by the Snowball dictionaries of the database server, kept at hand.

import { LRUCache } from 'lru-cache';
import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { union } from '../search/postgres/fragments.ts';
import { STEMS_AT_ONCE, STEMS_KEPT_MAX } from './limits.ts';
import { hasStem } from './segmentation.ts';

/** ISO 639-1 → dictionary. A server of an earlier version lacks some of them. */
const DICTIONARIES: Readonly<Record<string, string>> = {
  ar: 'arabic',
  ca: 'catalan',
  da: 'danish',
  de: 'german',
  el: 'greek',
  en: 'english',
  es: 'spanish',
  et: 'estonian',
  eu: 'basque',
  fi: 'finnish',
  fr: 'french',
  ga: 'irish',
  hi: 'hindi',
  hu: 'hungarian',
  hy: 'armenian',
  id: 'indonesian',
  it: 'italian',
  lt: 'lithuanian',
  nb: 'norwegian',
  ne: 'nepali',
  nl: 'dutch',
  nn: 'norwegian',
  no: 'norwegian',
  pt: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sr: 'serbian',
  sv: 'swedish',
  ta: 'tamil',
  tr: 'turkish',
  yi: 'yiddish',
};

/** Languages whose words have stems: no others are of interest to a question. */
export const STEMMED_LANGUAGES: readonly string[] = Object.keys(DICTIONARIES);

/** To be raised when words are divided or digested in another way: passages of an older form are done anew. */
const FORM = 1;

/** A word's stem; the word itself in a language without a dictionary; null for one that carries no meaning ("the"). */
export type Stems = (word: string) => string | null;

/** Of a language without a dictionary. */
export const unstemmed: Stems = (word) => word;

export type Stemmer = ReturnType<typeof createStemmer>;

export function createStemmer() {
  // With `max`, arrays of that length would be made now.
  const size = { maxSize: STEMS_KEPT_MAX, sizeCalculation: () => 1 };
  const kept = new LRUCache<string, { stem: string | null }>(size);
  let server: Promise<{ form: number; dictionaries: ReadonlySet<string> }> | undefined;

  /** Its dictionaries, and the form of words made with them: those of another version of the server may differ. */
  const askServer = (sql: Transaction): NonNullable<typeof server> => {
    server ??= readServer(sql);
    server.catch(() => {
      server = undefined;
    });
    return server;
  };

  return {
    form: async (sql: Transaction): Promise<number> => (await askServer(sql)).form,

    /** The stems of these words in each of the languages. The server is asked for those that are not at hand, so many at a time. */
    async stem(
      sql: Transaction,
      languages: readonly (string | null)[],
      words: readonly string[] | ReadonlySet<string>,
    ): Promise<Stems[]> {
      const { dictionaries } = await askServer(sql);
      const named = languages.map((language) => DICTIONARIES[language ?? '']);
      const used = new Set(
        named.flatMap((name) => (name !== undefined && dictionaries.has(name) ? name : [])),
      );
      const found = new Map([...used].map((name) => [name, new Map<string, string | null>()]));
      let unknown = new Map<string, string[]>();
      let count = 0;
      const ask = async (): Promise<void> => {
        if (count === 0) return;
        const asked = [...unknown].map(([name, some]) => askStems(sql, name, some));
        unknown = new Map();
        count = 0;
        const rows = await sql<{ name: string; word: string; stem: string | null }[]>`${union(sql, asked)}`;
        for (const { name, word, stem } of rows) {
          found.get(name)?.set(word, stem);
          kept.set(`${name} ${word}`, { stem });
        }
      };
      let endsAt = performance.now() + SLICE_MS;
      for (const [name, stems] of found)
        for (const word of words) {
          const known = hasStem(word) ? kept.get(`${name} ${word}`) : { stem: word };
          if (known !== undefined) stems.set(word, known.stem);
          else {
            unknown.getOrInsertComputed(name, () => []).push(word);
            if (++count >= STEMS_AT_ONCE) await ask();
          }
          if (performance.now() > endsAt) endsAt = await nextTimeSlice();
        }
      await ask();
      return named.map((name) => {
        const stems = name === undefined ? undefined : found.get(name);
        return stems === undefined ? unstemmed : (word) => stems.get(word) ?? null;
      });
    },
  };
}

const askStems = (sql: Transaction, name: string, words: readonly string[]): Fragment => sql`
  SELECT ${name}::text AS name, word, coalesce(stems[1], CASE WHEN stems IS NULL THEN word END) AS stem
  FROM (SELECT word, ts_lexize(${`pg_catalog.${name}_stem`}::regdictionary, word) AS stems
    FROM unnest(${words as string[]}::text[]) AS asked (word)) stemmed`;

async function readServer(sql: Transaction) {
  const rows = await sql<{ name: string; version: number }[]>`
    SELECT dictname AS name, current_setting('server_version_num')::int AS version FROM pg_ts_dict
    WHERE dictnamespace = 'pg_catalog'::regnamespace AND dictname LIKE '%\\_stem'`;
  return {
    form: FORM * 1000 + Math.floor((rows[0]?.version ?? 0) / 10_000),
    dictionaries: new Set(rows.map(({ name }) => name.slice(0, -'_stem'.length))),
  };
}
