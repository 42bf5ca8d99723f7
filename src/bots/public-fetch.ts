// Fetches from URLs that users can register: they may only lead to addresses of the public internet, because this machine also
// reaches private networks (server-side request forgery).

import { lookup as lookUp } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import { abortable } from '../core/wait.ts';

/** All addresses of a name. Throws where it has none. */
export type Lookup = (hostname: string) => Promise<readonly { address: string }[]>;

/** The system's resolver, which all other connections use, too. */
const systemLookup: Lookup = (hostname) => lookUp(hostname, { all: true });

export class AddressNotPublic extends Error {
  override name = 'AddressNotPublic';
}

/**
 * The addresses of a URL's host, all of them public: none is loopback, private, link-local, shared, multicast, reserved,
 * or one that is translated into another. Throws AddressNotPublic, the resolver's Error where there are none, and the
 * signal's reason where they take too long.
 */
export async function publicAddressesOf(
  url: URL,
  { signal, lookup = systemLookup }: { signal: AbortSignal; lookup?: Lookup | undefined },
): Promise<string[]> {
  if (LOCAL_NAME.test(url.hostname)) throw new AddressNotPublic(`${url.host} is this machine`);
  const literal = addressOf(url);
  const addresses =
    literal === undefined
      ? (await abortable(lookup(url.hostname), signal)).map(({ address }) => address)
      : [literal];
  if (!addresses.every(isPublic)) throw new AddressNotPublic(`${url.host} is not at a public address`);
  return addresses;
}

/** All names below `localhost` are loopback (RFC 6761), whatever the resolver answers. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

/** The literal address of a URL, if it has one; URL has normalised its notation. */
function addressOf({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) ? bare : undefined;
}

/** An IPv4 address that is mapped into IPv6 is checked as IPv4; of the other IPv6 addresses, 2000::/3 are public. */
function isPublic(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST, 3);
}

const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

const REQUEST = { headers: { accept: 'application/json' }, redirect: 'error' } as const;

/**
 * Tries the checked addresses one after the other; the name is not resolved again, because its addresses could change. Redirects are not
 * followed, because they could lead to other addresses.
 */
export async function fetchFromPublic(
  url: URL,
  options: { signal: AbortSignal; lookup?: Lookup | undefined },
): Promise<Response> {
  let failure: unknown;
  for (const address of await publicAddressesOf(url, options)) {
    try {
      return await fetchAt(url, address, options);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * Fetches a URL (https) from the server at this address, whose certificate has to be that of the URL's host. `ca`: a
 * certificate to trust instead of the system's, for tests.
 */
export async function fetchAt(
  url: URL,
  address: string,
  { signal, ca }: { signal: AbortSignal; ca?: string },
): Promise<Response> {
  if (url.protocol !== 'https:') throw new Error('a key set on the internet is fetched by https');
  const at = new URL(url);
  at.hostname = address.includes(':') ? `[${address}]` : address;
  return fetch(at, {
    ...REQUEST,
    headers: { ...REQUEST.headers, host: url.host },
    // The connection is valid for this name only.
    keepalive: false,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(addressOf(url) === undefined ? { serverName: url.hostname } : {}),
    },
    signal,
  });
}
