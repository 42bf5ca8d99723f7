// Predicates that ask the row itself: `s` (document_search) and, where `texts` says so, `t` (document_texts).

import { isUuid } from '../../../core/ids.ts';
import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { Comparison, Predicate, TextTest } from '../../filter/ast.ts';
import type { ComparedAttribute, DictionaryAttribute } from '../../filter/attributes.ts';
import { necessaryWords, normalise, soleWord, wordPrefix } from '../terms.ts';

/** Words that texts have and that contain a piece of text, by the piece; pieces of too many words are left out. */
export type Vocabulary = ReadonlyMap<string, readonly string[]>;

/** `slow` where no index helps: every row of the class is looked at. */
export type RowTest = { sql: Fragment; texts: boolean; slow: boolean };

export type RowTestContext = {
  sql: Transaction;
  workspaceId: string;
  bucket: string;
  vocabulary: Vocabulary;
};

export function toRowTest(context: RowTestContext, predicate: Predicate): RowTest {
  const { sql } = context;
  const test = positiveRowTest(context, predicate);
  if (!predicate.negated) return test;
  // No index finds what does not have a text.
  return { ...test, sql: sql`(${test.sql}) IS NOT TRUE`, slow: test.slow || test.texts };
}

function positiveRowTest(context: RowTestContext, predicate: Predicate): RowTest {
  const { sql } = context;
  const onRow = (fragment: Fragment, slow = false): RowTest => ({ sql: fragment, texts: false, slow });
  switch (predicate.attribute) {
    case 'created_at':
    case 'file_size':
      return onRow(comparison(sql, predicate));
    case 'id':
      if (predicate.test.kind === 'empty') return onRow(sql`false`);
      return onRow(sql`s.id = ANY (${predicate.test.values.filter(isUuid)}::uuid[])`);
    case 'name':
      return onRow(textTest(sql, sql`s.name`, predicate.test), isShort(predicate.test));
    case 'file_type':
      return onRow(textTest(sql, sql`s.file_type`, predicate.test), true);
    case 'file_hash':
      return onRow(textTest(sql, sql`s.file_hash`, predicate.test), true);
    case 'owner_id':
      return onRow(textTest(sql, sql`s.owner_id::text`, predicate.test), true);
    case 'storage_url':
      return locationTest(context, predicate.test);
    case 'summary': {
      const words = wordsNeeded(context, predicate.test);
      return withWords(sql, words, textTest(sql, sql`t.summary`, predicate.test));
    }
    case 'access':
    case 'slots':
      return dictionaryTest(context, predicate);
    default:
      throw new Error(`${predicate.attribute} is decided by terms and classes`);
  }
}

/** A piece too short for the index of trigrams. */
const isShort = (test: TextTest): boolean =>
  'value' in test && test.kind !== 'starts-with' && test.value.length < 3;

type Compared = Extract<Predicate, { attribute: ComparedAttribute }>;

function comparison(sql: Transaction, { attribute, test }: Compared): Fragment {
  const column = attribute === 'created_at' ? sql`s.created_at` : sql`s.file_size`;
  if (test.kind === 'empty') return sql`${column} IS NULL`;
  const value =
    attribute === 'created_at'
      ? sql`${new Date(test.value).toISOString()}::timestamptz`
      : sql`${test.value}::bigint`;
  return sql`${column} ${COMPARE[test.comparison](sql)} ${value}`;
}

function locationTest({ sql, bucket }: RowTestContext, test: TextTest): RowTest {
  const full = textTest(sql, sql`(${normalise(`s3://${bucket}/`)} || t.object_key)`, test);
  if (test.kind !== 'one-of') return { sql: full, texts: true, slow: true };
  const ids = test.values.map((value) => UUID_IN_KEY.exec(value)?.[1]).filter((id) => id !== undefined);
  return { sql: sql`(s.id = ANY (${ids}::uuid[]) AND ${full})`, texts: true, slow: false };
}

const withWords = (sql: Transaction, words: Fragment | undefined, test: Fragment): RowTest => ({
  // In this order: where rows are read one by one, many words take far longer to compare than a text.
  sql: words === undefined ? test : sql`(${test} AND ${words})`,
  texts: true,
  slow: words === undefined,
});

const COMPARE: Record<Comparison, (sql: Transaction) => Fragment> = {
  eq: (sql) => sql`=`,
  gt: (sql) => sql`>`,
  lt: (sql) => sql`<`,
  gte: (sql) => sql`>=`,
  lte: (sql) => sql`<=`,
};

/** A key ends in the document's id and, with most, its extension. */
const UUID_IN_KEY = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[^/]*$/;

function textTest(sql: Transaction, text: Fragment, test: TextTest): Fragment {
  switch (test.kind) {
    case 'one-of':
      return sql`${text} = ANY (${test.values as string[]}::text[])`;
    case 'empty':
      return sql`coalesce(${text}, '') = ''`;
    default:
      return sql`${text} LIKE ${toPattern(test)}`;
  }
}

function toPattern({ kind, value }: Extract<TextTest, { value: string }>): string {
  const literal = value.replaceAll(/[\\%_]/g, '\\$&');
  return `${kind === 'starts-with' ? '' : '%'}${literal}${kind === 'ends-with' ? '' : '%'}`;
}

/** A test of some leaf, of one top-level key or of all. */
function dictionaryTest(
  context: RowTestContext,
  { attribute, key, test }: Extract<Predicate, { attribute: DictionaryAttribute }>,
): RowTest {
  const { sql } = context;
  const column = attribute === 'slots' ? sql`t.slots` : sql`t.access`;
  if (test.kind === 'empty') {
    const value = sql`coalesce(${column} -> ${key ?? ''}::text, '""')`;
    return { sql: sql`${value} = '""'`, texts: true, slow: true };
  }
  const leaves =
    key === undefined
      ? sql`jsonb_path_query(${column}, '$.*[*]')`
      : sql`jsonb_path_query(${column} -> ${key}::text, '$[*]')`;
  const found = sql`EXISTS (SELECT FROM ${leaves} AS leaf WHERE ${textTest(sql, sql`(leaf #>> '{}')`, test)})`;
  return withWords(sql, attribute === 'slots' ? wordsNeeded(context, test) : undefined, found);
}

/** A condition that the index of words serves and that everything with the text fulfils. */
function wordsNeeded({ sql, workspaceId, vocabulary }: RowTestContext, test: TextTest): Fragment | undefined {
  if (test.kind === 'empty' || (test.kind === 'one-of' && test.values.length > NAMED_MAX)) return undefined;
  const anchored = {
    start: test.kind === 'starts-with' || test.kind === 'one-of',
    end: test.kind === 'ends-with' || test.kind === 'one-of',
  };
  const pieces = (test.kind === 'one-of' ? test.values : [test.value]).map((text) => {
    const words = necessaryWords(workspaceId, text, anchored);
    if (words !== undefined) return `(${words})`;
    const holding = vocabulary.get(soleWord(text) ?? '');
    return holding?.map((word) => `'${wordPrefix(workspaceId)}${word}'`).join(' | ');
  });
  if (pieces.some((piece) => piece === undefined)) return undefined;
  const query = pieces.filter((piece) => piece !== '').join(' | ');
  return query === '' ? sql`NOT t.complete` : sql`(t.words @@ ${query}::tsquery OR NOT t.complete)`;
}

/** Values whose words a search names: of tens of thousands, the server takes seconds to parse the query, and then refuses it. */
const NAMED_MAX = 1000;

/** Words that a piece of text is looked for by. */
const HOLDING_MAX = 300;
/** Pieces that one search looks up. */
const PIECES_MAX = 8;

/** For tests of text by a single word or a part of one: the words of the vocabulary that contain it. */
export async function findHoldingWords(
  sql: Transaction,
  predicates: readonly Predicate[],
): Promise<Vocabulary> {
  const pieces = predicates.flatMap(({ attribute, test }) => {
    if (attribute !== 'summary' && attribute !== 'slots') return [];
    const word = 'value' in test && test.kind !== 'starts-with' ? soleWord(test.value) : undefined;
    return word === undefined ? [] : [word];
  });
  if (pieces.length === 0) return new Map();
  const rows = await sql<{ piece: string; words: string[] }[]>`
    SELECT piece, ARRAY (
      SELECT word FROM document_words WHERE word LIKE '%' || piece || '%' LIMIT ${HOLDING_MAX + 1}) AS words
    FROM unnest(${[...new Set(pieces)].slice(0, PIECES_MAX)}::text[]) AS asked (piece)`;
  return new Map(
    rows.filter(({ words }) => words.length <= HOLDING_MAX).map(({ piece, words }) => [piece, words]),
  );
}
