// Predicates → what the tables of search can be asked. A condition is a set of terms, a span of time, or a test of
// the row; the first two can be counted and walked in the postings alone.

import { isUuid } from '../../../core/ids.ts';
import type { Transaction } from '../../../infra/postgres/client.ts';
import type { Comparison, Predicate, TextTest } from '../../filter/ast.ts';
import type { ComparedAttribute, DictionaryAttribute } from '../../filter/attributes.ts';
import { normalise } from '../../filter/normalise.ts';
import { createTerms, type RarerSide } from '../terms.ts';
import { necessaryWords } from '../words.ts';
import type { Fragment } from './fragments.ts';

/** A test of the row `s` (document_search) and, where `texts` says so, of `t` (document_texts). */
export type RowTest = { sql: Fragment; texts: boolean; slow: boolean };

export type Conditions = {
  /** Of each group one term at least. */
  required: string[][];
  /** None of these terms. */
  excluded: string[];
  /** Created from (inclusive) and until (exclusive), in milliseconds. */
  from: number | undefined;
  until: number | undefined;
  rows: RowTest[];
};

/** What Postgres reads as a date-time of four digits a year; no document is older or younger. */
const MS_MIN = Date.parse('0001-01-02T00:00:00Z');
const MS_MAX = Date.parse('9999-12-30T00:00:00Z');

const clampMs = (ms: number): number => Math.min(Math.max(ms, MS_MIN), MS_MAX);

export type ConditionsContext = { sql: Transaction; workspaceId: string; bucket: string };

/** Status predicates are left out: the classes of the query's branches say what they allow. */
export function toConditions(context: ConditionsContext, predicates: readonly Predicate[]): Conditions {
  const conditions: Conditions = { required: [], excluded: [], from: undefined, until: undefined, rows: [] };
  for (const predicate of predicates) {
    if (predicate.attribute === 'status') continue;
    const terms = termsOf(context.workspaceId, predicate);
    if (terms !== undefined) {
      const absent = terms.negated !== predicate.negated;
      if (absent) conditions.excluded.push(...terms.any);
      else conditions.required.push(terms.any);
    } else if (!(predicate.attribute === 'created_at' && narrow(conditions, predicate))) {
      conditions.rows.push(toRowTest(context, predicate));
    }
  }
  return conditions;
}

/** The terms that a predicate asks for, or (negated) must find absent; undefined where terms can't tell. */
function termsOf(workspaceId: string, predicate: Predicate): { any: string[]; negated: boolean } | undefined {
  const terms = createTerms(workspaceId);
  if (predicate.test.kind === 'empty') {
    const side = 'key' in predicate && predicate.key !== undefined ? undefined : SIDES[predicate.attribute];
    return side === undefined ? undefined : { any: [terms.side(side)], negated: side.startsWith('filled') };
  }
  if (predicate.test.kind !== 'one-of') return undefined;
  const { values } = predicate.test;
  const having = (term: (value: string) => string) => ({ any: values.map(term), negated: false });
  switch (predicate.attribute) {
    case 'owner_id':
      return having(terms.owner);
    case 'tags':
    case 'categories':
    case 'file_type':
    case 'file_hash': {
      const { attribute } = predicate;
      return having((value) => terms.label(attribute, value));
    }
    case 'access':
    case 'slots': {
      const { attribute, key } = predicate;
      return key === undefined ? undefined : having((value) => terms.leaf(attribute, key, value));
    }
    default:
      return undefined;
  }
}

const SIDES: Partial<Record<Predicate['attribute'], RarerSide>> = {
  tags: 'empty:tags',
  categories: 'empty:categories',
  file_type: 'empty:file_type',
  file_hash: 'empty:file_hash',
  summary: 'filled:summary',
  slots: 'filled:slots',
  access: 'filled:access',
};

/** Takes a comparison of created_at into the span; false where it is none that a span can say. */
function narrow(conditions: Conditions, { negated, test }: Predicate): boolean {
  if (negated || test.kind !== 'compare') return false;
  const { comparison } = test;
  const value = clampMs(test.value);
  const after = (ms: number) => {
    conditions.from = Math.max(conditions.from ?? ms, ms);
  };
  const before = (ms: number) => {
    conditions.until = Math.min(conditions.until ?? ms, ms);
  };
  if (comparison === 'eq' || comparison === 'gte') after(value);
  if (comparison === 'gt') after(value + 1);
  if (comparison === 'eq' || comparison === 'lte') before(value + 1);
  if (comparison === 'lt') before(value);
  return true;
}

function toRowTest(context: ConditionsContext, predicate: Predicate): RowTest {
  const { sql } = context;
  const test = positiveRowTest(context, predicate);
  return predicate.negated ? { ...test, sql: sql`(${test.sql}) IS NOT TRUE` } : test;
}

function positiveRowTest(context: ConditionsContext, predicate: Predicate): RowTest {
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
      throw new Error(`${predicate.attribute} is told by terms and classes`);
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
      ? sql`${new Date(clampMs(test.value)).toISOString()}::timestamptz`
      : sql`${test.value}::bigint`;
  return sql`${column} ${COMPARE[test.comparison](sql)} ${value}`;
}

function locationTest({ sql, bucket }: ConditionsContext, test: TextTest): RowTest {
  const full = textTest(sql, sql`(${normalise(`s3://${bucket}/`)} || t.object_key)`, test);
  if (test.kind !== 'one-of') return { sql: full, texts: true, slow: true };
  const ids = test.values.map((value) => UUID_IN_KEY.exec(value)?.[1]).filter((id) => id !== undefined);
  return { sql: sql`(s.id = ANY (${ids}::uuid[]) AND ${full})`, texts: true, slow: false };
}

const withWords = (sql: Transaction, words: Fragment | undefined, test: Fragment): RowTest => ({
  sql: words === undefined ? test : sql`(${words} AND ${test})`,
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
  context: ConditionsContext,
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
function wordsNeeded({ sql, workspaceId }: ConditionsContext, test: TextTest): Fragment | undefined {
  if (test.kind === 'empty') return undefined;
  const pieces =
    test.kind === 'one-of'
      ? test.values.map((value) => necessaryWords(workspaceId, value, { start: true, end: true }))
      : [
          necessaryWords(workspaceId, test.value, {
            start: test.kind === 'starts-with',
            end: test.kind === 'ends-with',
          }),
        ];
  if (pieces.some((piece) => piece === undefined)) return undefined;
  const query = pieces.map((piece) => `(${piece})`).join(' | ');
  return sql`(t.words @@ ${query}::tsquery OR NOT t.complete)`;
}
