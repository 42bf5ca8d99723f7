// Processes of the version before go on running while a migration is applied: what they call and what they write stays
// possible, unless the migration says from which version on it is compatible. docs/decisions/015 has the two steps.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

/**
 * A unique index, a check or a foreign key: the columns that it is about, and the condition of a check, or of the rows that
 * are in a partial index.
 */
type Rule = { table: string; text: string; columns: string[]; condition: string | null };

type Column = { table: string; name: string; type: string; default: string };

type Schema = {
  tables: Set<string>;
  offers: Set<string>;
  demands: Map<string, string>;
  columns: Column[];
  rules: Rule[];
};

/**
 * What can be called, read and named as the target of ON CONFLICT; and what is asked of those who write, by its table.
 * What a function does, and what a query that goes over all columns gets, is not seen here.
 */
async function readSchema(): Promise<Schema> {
  const { sql } = database;
  const columns = await sql<(Column & { isNeeded: boolean; notNull: boolean })[]>`
    SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
      coalesce((SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = c.oid AND adnum = a.attnum), 'NULL')
        AS default,
      a.attnotnull AS "notNull",
      a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = '' AS "isNeeded"
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped`;
  const functions = await sql<{ text: string }[]>`
    SELECT format('%s(%s) gives %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) AS text
    FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
      -- Those of triggers can be called by no process.
      AND p.prorettype <> 'trigger'::regtype
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`;
  const names = (relation: string, numbers: string) =>
    sql.unsafe(`ARRAY(
    SELECT attname::text FROM pg_attribute WHERE attrelid = ${relation} AND attnum = ANY (${numbers})) AS columns`);
  const keys = await sql<Rule[]>`
    SELECT i.indrelid::regclass::text AS table, ${names('i.indrelid', 'i.indkey::int2[]')},
      pg_get_expr(i.indpred, i.indrelid) AS condition,
      regexp_replace(pg_get_indexdef(i.indexrelid), '^.* USING', 'unique') AS text
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace`;
  const rules = await sql<Rule[]>`
    SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS text, ${names('conrelid', 'conkey')},
      pg_get_expr(conbin, conrelid) AS condition
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND contype IN ('c', 'f', 'x')`;
  return {
    columns,
    rules: [...keys, ...rules],
    tables: new Set(columns.map(({ table }) => table)),
    offers: new Set([
      ...columns.map(({ table, name, type }) => `${table}.${name} ${type}`),
      ...functions.map(({ text }) => text),
      ...keys.map(({ table, text }) => `${table} ${text}`),
    ]),
    demands: new Map([
      ...columns.flatMap(({ table, name, isNeeded, notNull }): [string, string][] => [
        ...(isNeeded ? [[`${table}.${name} is to be given`, table] as [string, string]] : []),
        ...(notNull ? [[`${table}.${name} is not null`, table] as [string, string]] : []),
      ]),
      ...[...keys, ...rules].map(({ table, text }): [string, string] => [`${table} ${text}`, table]),
    ]),
  };
}

/** What the version before called or read and cannot any more, and what is asked of it that it does not know. */
function contractions(before: Schema, after: Schema): string[] {
  const gone = [...before.offers].filter((offer) => !after.offers.has(offer));
  const asked = [...after.demands].flatMap(([demand, table]) => {
    const column = /^\S+\.\S+(?= is not null$)/.exec(demand)?.[0];
    // A new column with a default asks nothing of those who do not name it.
    const isNew = column !== undefined && ![...before.offers].some((offer) => offer.startsWith(`${column} `));
    return before.tables.has(table) && !before.demands.has(demand) && !isNew ? [demand] : [];
  });
  return [...gone.map((offer) => `gone: ${offer}`), ...asked.map((demand) => `asked: ${demand}`)].toSorted();
}

/**
 * Whether a rule of new columns asks nothing of those who do not name them, whose rows have the defaults: they are not in a
 * partial index, or are different in a unique one, or meet the check, which is about new columns alone.
 */
async function isMetByDefaults({ table, text, columns, condition }: Rule, before: Schema, after: Schema) {
  const known = new Set(before.columns.filter((each) => each.table === table).map(({ name }) => name));
  const all = after.columns.filter((each) => each.table === table);
  const added = all.filter(({ name }) => !known.has(name));
  const row = all.map(({ name, type, ...column }) => {
    return `(${known.has(name) ? 'NULL' : column.default})::${type} AS "${name}"`;
  });
  const isTrue = async (expression: string): Promise<boolean> => {
    const [found] = await database.sql.unsafe(
      `SELECT (${expression}) AS it FROM (SELECT ${row.join()}) AS row`,
    );
    return found?.['it'] === true;
  };
  const ofNew = added.filter(({ name }) => columns.includes(name));
  const differs = ofNew.map((each) => `(${each.default}) IS NULL OR (${each.default}) <> (${each.default})`);
  if (text.startsWith('CHECK'))
    return ofNew.length === columns.length && isTrue(`(${condition}) IS NOT FALSE`);
  const leavesOut =
    condition !== null && added.some(({ name }) => new RegExp(`\\b${name}\\b`).test(condition));
  return (
    (leavesOut && (await isTrue(`(${condition}) IS NOT TRUE`))) ||
    (differs.length > 0 && isTrue(differs.map((each) => `(${each})`).join(' OR ')))
  );
}

async function contractionsOf(text: string): Promise<string[]> {
  const before = await readSchema();
  await database.sql.unsafe(text);
  const after = await readSchema();
  const found = contractions(before, after);
  const met = new Set<string>();
  for (const rule of after.rules) {
    const asked = `asked: ${rule.table} ${rule.text}`;
    if (found.includes(asked) && (await isMetByDefaults(rule, before, after))) met.add(asked);
  }
  return found.filter((each) => !met.has(each));
}

test('a migration that takes away what the version before uses says from which version on it is compatible', async () => {
  await database.sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const unmarked: Record<string, string[]> = {};
  for (const name of readdirSync(MIGRATIONS).toSorted()) {
    const text = readFileSync(join(MIGRATIONS, name), 'utf8');
    const found = await contractionsOf(text);
    const isMarked = /^-- compatible from: \d{4}$/m.test(text);
    if (found.length > 0 && !isMarked) unmarked[name] = found;
  }
  expect(unmarked).toEqual({});
});

test('what is taken away or asked for is found; what is added is not', async () => {
  await database.sql.unsafe(`
    CREATE TABLE notes (id bigint PRIMARY KEY, author text, text text NOT NULL DEFAULT '', kind text, UNIQUE (author));
    CREATE FUNCTION note(in_text text, OUT id bigint) LANGUAGE sql AS $$ SELECT 1::bigint $$`);
  const cases: [text: string, found: string[]][] = [
    ['ALTER TABLE notes ADD COLUMN room text', []],
    ["ALTER TABLE notes ADD COLUMN tags text[] NOT NULL DEFAULT '{}'", []],
    ['CREATE TABLE rooms (id bigint PRIMARY KEY, name text NOT NULL UNIQUE)', []],
    [
      'CREATE FUNCTION note2(in_text text, in_room text) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$',
      [],
    ],
    [
      'CREATE OR REPLACE FUNCTION note(in_text text, OUT id bigint) LANGUAGE sql AS $$ SELECT 2::bigint $$',
      [],
    ],
    ['ALTER TABLE notes ADD COLUMN place bigint NOT NULL', ['asked: notes.place is to be given']],
    [
      'ALTER TABLE notes ALTER COLUMN kind SET NOT NULL',
      ['asked: notes.kind is not null', 'asked: notes.kind is to be given'],
    ],
    ['ALTER TABLE notes ALTER COLUMN text DROP DEFAULT', ['asked: notes.text is to be given']],
    ["ALTER TABLE notes ADD CHECK (room <> '')", ["asked: notes CHECK ((room <> ''::text))"]],
    ['ALTER TABLE notes ADD COLUMN mark uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE', []],
    ['ALTER TABLE notes ADD COLUMN code text UNIQUE', []],
    ["ALTER TABLE notes ADD COLUMN rank text DEFAULT 'a' UNIQUE", ['asked: notes unique btree (rank)']],
    [
      `ALTER TABLE notes ADD COLUMN pinned boolean NOT NULL DEFAULT false;
       CREATE UNIQUE INDEX ON notes (kind) WHERE pinned;
       CREATE UNIQUE INDEX ON notes (kind) WHERE NOT pinned`,
      ['asked: notes unique btree (kind) WHERE (NOT pinned)'],
    ],
    [
      `ALTER TABLE notes ADD COLUMN one text, ADD COLUMN two text, ADD CHECK ((one IS NULL) = (two IS NULL)),
         ADD CHECK (one IS NOT NULL), ADD CHECK ((one IS NULL) = (author IS NULL))`,
      ['asked: notes CHECK (((one IS NULL) = (author IS NULL)))', 'asked: notes CHECK ((one IS NOT NULL))'],
    ],
    ['CREATE UNIQUE INDEX ON notes (room)', ['asked: notes unique btree (room)']],
    ['ALTER TABLE notes DROP CONSTRAINT notes_author_key', ['gone: notes unique btree (author)']],
    ['ALTER TABLE notes ALTER COLUMN author TYPE varchar(9)', ['gone: notes.author text']],
    ['ALTER TABLE notes RENAME COLUMN tags TO labels', ['gone: notes.tags text[]']],
    ['DROP FUNCTION note', ['gone: note(in_text text, OUT id bigint) gives bigint']],
    [
      'DROP TABLE rooms',
      [
        'gone: rooms unique btree (id)',
        'gone: rooms unique btree (name)',
        'gone: rooms.id bigint',
        'gone: rooms.name text',
      ],
    ],
  ];
  for (const [text, found] of cases) expect([text, await contractionsOf(text)]).toEqual([text, found]);
});
