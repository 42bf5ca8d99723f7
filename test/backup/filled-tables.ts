// A row in every table of the schema, with the values that are hard to copy.

import { REBUILT_TABLES } from '../../src/documents/index.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { quoteName, readTables } from '../../src/infra/postgres/tables.ts';

/** By their types; text has all that COPY writes in another way. */
const VALUES: Record<string, string> = {
  text: `E'a\\tb\\nc\\rd\\\\e \\\\. ''"ü😀'`,
  uuid: 'gen_random_uuid()',
  boolean: 'true',
  smallint: '7',
  integer: '70000',
  bigint: '7000000000000000007',
  numeric: '12345678901234567890.00000000012345',
  'double precision': `'1.7976931348623157e308'`,
  real: '0.1',
  date: `'-infinity'`,
  json: `'{ "a" : 1e400, "b":"\\\\n\\\\u00fc\\\\\\\\" }'`,
  jsonb: `'{"a":"\\\\n\\\\\\\\","b":[null]}'`,
  bytea: `'\\x00ff5c0a'`,
  tsvector: `'''it''''s'':1 a\\\\\\\\b:2'`,
  'text[]': `ARRAY['a,b', '"', E'\\\\', NULL, 'NULL']`,
  'uuid[]': 'ARRAY[gen_random_uuid()]',
  'real[]': 'ARRAY[0.1, 2]',
  'bit(4096)': `repeat('10', 2048)::bit(4096)`,
};

/** Columns whose constraints allow only some values. */
const OWN: Record<string, string> = {
  'workspaces.id': `'acme'`,
  'users.email': `'ada@example.com'`,
  'users.sign_on_subject': 'NULL',
  'users.sign_on_issuer': 'NULL',
  'keys.hash': `sha256('key')`,
  'keys.revoked_at': 'NULL',
  'portal_sessions.hash': `sha256('session')`,
  'portal_links.hash': `sha256('link')`,
  'chat_agents.kind': `'persona'`,
  'chat_messages.role': `'user'`,
  'chat_messages.state': 'NULL',
  'chat_messages.owner': 'NULL',
  'bots.id': `'helper'`,
  'bot_replies.event_hash': `sha256('event')`,
  'documents.status': `'private'`,
  'documents.status_before_bin': 'NULL',
  'documents.deleted_at': 'NULL',
  'document_contents.state': `'ready'`,
  'document_contents.given_format': 'NULL',
  'document_contents.passages': '0',
};

type Column = { name: string; type: string; parent: string | null; parentColumn: string | null };

const expressionOf = (table: string, { name, type, parent, parentColumn }: Column): string => {
  const own = OWN[`${table}.${name}`];
  if (own !== undefined) return own;
  if (parent !== null) return `(SELECT ${quoteName(parentColumn ?? '')} FROM ${quoteName(parent)} LIMIT 1)`;
  const known = VALUES[type] ?? (type.startsWith('timestamp') ? `'2026-02-28 23:59:59.987'` : undefined);
  if (known === undefined) throw new Error(`no value for ${table}.${name}, which is ${type}`);
  return known;
};

/**
 * Adds a row to each table that has none. A table of a later migration with a new type, or with a constraint, fails here until a
 * value for it is named above.
 */
export async function fillTables(sql: Sql): Promise<string[]> {
  const tables = await readTables(sql, REBUILT_TABLES);
  for (const { name } of tables) {
    const [row] = await sql.unsafe(`SELECT 1 FROM ${quoteName(name)} LIMIT 1`);
    if (row !== undefined) continue;
    const columns = await sql<Column[]>`
      SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type, r.relname::text AS parent,
        p.attname::text AS "parentColumn"
      FROM pg_attribute a
      LEFT JOIN LATERAL (SELECT k.confrelid, k.confkey[array_position(k.conkey, a.attnum)] AS place FROM pg_constraint k
        WHERE k.conrelid = a.attrelid AND k.contype = 'f' AND a.attnum = ANY (k.conkey) LIMIT 1) k ON true
      LEFT JOIN pg_class r ON r.oid = k.confrelid
      LEFT JOIN pg_attribute p ON p.attrelid = k.confrelid AND p.attnum = k.place
      WHERE a.attrelid = ${name}::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
        AND a.attidentity <> 'a' ORDER BY a.attnum`;
    const list = columns.map((column) => quoteName(column.name)).join(', ');
    const values = columns.map((column) => expressionOf(name, column)).join(', ');
    await sql
      .unsafe(`INSERT INTO ${quoteName(name)} (${list}) VALUES (${values})`)
      .catch((cause: unknown) => {
        throw new Error(`a row of ${name} was refused: ${cause}`, { cause });
      });
  }
  return tables.map(({ name }) => name);
}

/** The number and a digest of the rows of each table, without regard to their order, and the sequences. */
export async function describeRows(sql: Sql): Promise<Record<string, string>> {
  const described: Record<string, string> = {};
  for (const { name } of await readTables(sql, REBUILT_TABLES)) {
    const [row] = await sql.unsafe<{ is: string }[]>(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' ORDER BY t::text COLLATE "C")), '') AS is
       FROM ${quoteName(name)} t`,
    );
    described[name] = row?.is ?? '';
  }
  const sequences = await sql<{ name: string; value: string }[]>`
    SELECT sequencename::text AS name, coalesce(last_value::text, '-') AS value FROM pg_sequences ORDER BY 1`;
  for (const { name, value } of sequences) described[`sequence ${name}`] = value;
  const indexes = await sql<{ all: string }[]>`
    SELECT string_agg(indexdef, E'\n' ORDER BY indexdef) AS all FROM pg_indexes WHERE schemaname = current_schema()`;
  const triggers = await sql<{ all: string }[]>`
    SELECT string_agg(tgname || tgenabled::text, ' ' ORDER BY tgname, tgrelid::regclass::text) AS all FROM pg_trigger
    WHERE NOT tgisinternal`;
  return { ...described, indexes: indexes[0]?.all ?? '', triggers: triggers[0]?.all ?? '' };
}
