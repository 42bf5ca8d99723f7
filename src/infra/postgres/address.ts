// The address of a database, as libpq writes it: of one host, or of several of which one takes writes.

import type { Kind } from '../../core/settings-reader.ts';

export type Host = { host: string; port: number };

export type Address = {
  /** What a client that connects to one host understands: the first, and no `target_session_attrs`. */
  url: string;
  /** The hosts among which the one that takes writes is looked for; empty where the URL names one host, which is used as it is. */
  candidates: readonly Host[];
};

const PORT_DEFAULT = 5432;

/** What stands before the hosts, the hosts, and what follows them. A password may contain an @. */
const PARTS = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;

/** Of `target_session_attrs`. The service writes: of several hosts it uses the one that takes writes, also by default. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'];

/** `postgres://user:password@one:5432,two:5432/database?target_session_attrs=read-write`; undefined for any other text. */
export function parseAddress(text: string): Address | undefined {
  const [, scheme = '', user = '', names = '', rest = ''] = PARTS.exec(text) ?? [];
  const [first = '', ...others] = names.split(',');
  const url = URL.parse(`${scheme}${user}${first}${rest}`);
  if (url === null) return undefined;
  const attributes = url.searchParams.get('target_session_attrs');
  if (attributes === null && others.length === 0) return { url: text, candidates: [] };
  const candidates = [first, ...others].map(parseHost).filter((host) => host !== undefined);
  if (candidates.length <= others.length || !SESSION_ATTRIBUTES.includes(attributes ?? 'any'))
    return undefined;
  url.searchParams.delete('target_session_attrs');
  return { url: url.href, candidates: others.length === 0 && attributes === 'any' ? [] : candidates };
}

export const DATABASE_ADDRESS: Kind<string> = {
  allowed:
    'postgres://… or postgresql://… with one host, or several that are comma-separated; target_session_attrs may be ' +
    'read-write or primary',
  parse: (text) => (parseAddress(text) === undefined ? undefined : text),
  show: showAddress,
};

/** The address without user, password and options. */
function showAddress(text: string): string {
  const [, scheme = '…', , names = '', rest = ''] = PARTS.exec(text) ?? [];
  return `${scheme}${names}${rest.replace(/[?#].*$/s, '')}`.replace(/\/$/, '');
}

/** An address of IPv6 stands in brackets. */
function parseHost(name: string): Host | undefined {
  const url = URL.parse(`postgres://${name}`);
  if (url === null || url.hostname === '' || url.host !== name) return undefined;
  const host = decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '');
  return { host, port: Number(url.port || PORT_DEFAULT) };
}
