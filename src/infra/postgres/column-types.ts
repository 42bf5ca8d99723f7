/** Conversion between column values and JavaScript values, beyond the defaults of postgres.js. */
import type { PostgresType } from 'postgres';

export type JsonCodec = { parse: (text: string) => unknown; serialize: (value: unknown) => string };

/** The number of a type in `pg_type`, that of its array type, and its parser (default: text). */
type Scalar = { oid: number; arrayOid: number; parse?: (text: string) => unknown };

const BIGINT: Scalar = { oid: 20, arrayOid: 1016, parse: toInteger };
const TIMESTAMP: Scalar = { oid: 1114, arrayOid: 1115, parse: toUtcDate };

/** Types of columns and array parameters. They are listed because postgres.js would fetch them for each connection. */
const SCALARS: Scalar[] = [
  BIGINT,
  TIMESTAMP,
  { oid: 16, arrayOid: 1000, parse: (text) => text === 't' },
  { oid: 21, arrayOid: 1005, parse: Number },
  { oid: 23, arrayOid: 1007, parse: Number },
  { oid: 25, arrayOid: 1009 },
  { oid: 700, arrayOid: 1021, parse: Number },
  { oid: 701, arrayOid: 1022, parse: Number },
  { oid: 1043, arrayOid: 1015 },
  { oid: 1184, arrayOid: 1185, parse: (text) => new Date(text) },
  { oid: 1700, arrayOid: 1231 },
  { oid: 2950, arrayOid: 2951 },
];

/** Maps a scalar's number to its array's, for `sql.array`. */
export const arrayOids = Object.fromEntries(SCALARS.map(({ oid, arrayOid }) => [oid, arrayOid]));

/**
 * The `types` option: integers beyond 2^53 stay exact as bigint, a timestamp without zone is UTC, arrays know NULL,
 * and `json` replaces the codec of json and jsonb columns.
 */
export function columnTypes(json: JsonCodec | undefined): Record<string, PostgresType> {
  const types: Record<string, PostgresType> = {
    bigint: { to: BIGINT.oid, from: [BIGINT.oid], parse: toInteger, serialize: String },
    timestamp: { to: TIMESTAMP.oid, from: [TIMESTAMP.oid], parse: toUtcDate, serialize: renderElement },
  };
  if (json !== undefined) types['json'] = { to: 114, from: [114, 3802], ...json };
  for (const { arrayOid, parse = String } of SCALARS) {
    types[`array${arrayOid}`] = {
      to: arrayOid,
      from: [arrayOid],
      parse: (text: string) => parseArray(text, parse),
      serialize: (value: unknown) => (Array.isArray(value) ? renderArray(value) : value),
    };
  }
  return types;
}

/** An element in quotes, a bare one, or a sign of an array's text form (manual, section 8.15.6). */
const TOKEN = /"((?:[^"\\]|\\.)*)"|([^{},"]+)|[{}]/gs;

/** Reads `{a,"b,c",NULL,{…}}`. Elements other than NULL go through `parseElement`. Bounds (`[2:3]={…}`) are ignored. */
export function parseArray(text: string, parseElement: (text: string) => unknown): unknown[] {
  const root: unknown[] = [];
  const open = [root];
  for (const [token, quoted, bare] of text.slice(text.indexOf('{')).matchAll(TOKEN)) {
    const array = open.at(-1) ?? root;
    if (token === '{') {
      const inner: unknown[] = [];
      array.push(inner);
      open.push(inner);
    } else if (token === '}') open.pop();
    else if (bare === 'NULL') array.push(null);
    else array.push(parseElement(bare ?? quoted?.replaceAll(/\\(.)/gs, '$1') ?? ''));
  }
  return root[0] as unknown[];
}

/** Writes what `parseArray` reads. Every element is quoted, so that none can pass for syntax. */
export function renderArray(elements: readonly unknown[]): string {
  const rendered = elements.map((element) => {
    if (element === null || element === undefined) return 'NULL';
    if (Array.isArray(element)) return renderArray(element);
    return `"${renderElement(element).replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${rendered.join(',')}}`;
}

function toInteger(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function toUtcDate(text: string): Date {
  return new Date(`${text}Z`);
}

function renderElement(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
