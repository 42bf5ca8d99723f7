// The client of a request: its address, and whether it came by https. A proxy states both in headers, which anybody can send: they
// are believed where the connection is that of a proxy which the operator has named.

import { BlockList, isIP } from 'node:net';
import { malformed, type ServiceError } from '../core/errors.ts';
import type { Kind } from '../core/settings-reader.ts';

/** The server of a request, which knows the other end of its connection. */
export type Connections = { requestIP(request: Request): { address: string } | null } | null | undefined;

/** `address` is null for a request that no connection has brought. `isHttps`: it was sent by https, here or to a trusted proxy. */
export type Client = { address: string | null; isHttps: boolean };

/** Addresses and CIDRs, separated by commas. */
export const PROXIES: Kind<readonly string[]> = {
  allowed: 'comma-separated addresses or CIDRs, such as 10.0.0.0/8,::1',
  parse: (text) => {
    const items = text.split(',').map((item) => item.trim());
    return items.every((item) => toSubnet(item) !== undefined) ? items : undefined;
  },
};

export class ClientFinder {
  private readonly proxies: BlockList | undefined;

  constructor(proxies: readonly string[]) {
    if (proxies.length === 0) return;
    this.proxies = new BlockList();
    for (const proxy of proxies) {
      const { address, prefix, family } = toSubnet(proxy) as Subnet;
      this.proxies.addSubnet(address, prefix, family);
    }
  }

  private isTrusted(address: string): boolean {
    return this.proxies?.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') ?? false;
  }

  /** The client of a request. Its connection is known as long as the client is there. */
  find(request: Request, connections: Connections): Client {
    const connected = connections?.requestIP(request)?.address;
    const peer = connected === undefined ? null : withoutMapping(connected);
    const isHttps = request.url.startsWith('https:');
    if (peer === null || !this.isTrusted(peer)) return { address: peer, isHttps };
    const { headers } = request;
    // Each proxy appends the address of its client: what stands before the last one that is no proxy is that client's own claim.
    let address = peer;
    for (const item of (headers.get('x-forwarded-for') ?? '').split(',').reverse()) {
      const forwarded = toAddress(item);
      if (forwarded === undefined) break;
      address = forwarded;
      if (!this.isTrusted(address)) break;
    }
    const cameByHttps = /^\s*https\s*(?:,|$)/i.test(headers.get('x-forwarded-proto') ?? '');
    return { address, isHttps: isHttps || cameByHttps };
  }
}

/** An IPv4 address, also where the socket is one of IPv6. */
const withoutMapping = (address: string): string => address.replace(/^::ffff:(?=[\d.]+$)/i, '');

/** The address of an item of `X-Forwarded-For`, which may have a port; undefined where it is none. */
function toAddress(item: string): string | undefined {
  const text = item.trim();
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = withoutMapping(bare);
  // Without a zone, whose text may be anything.
  return isIP(address) === 0 || address.includes('%') ? undefined : address.toLowerCase();
}

type Subnet = { address: string; prefix: number; family: 'ipv4' | 'ipv6' };

function toSubnet(text: string): Subnet | undefined {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const bits = version === 6 ? 128 : 32;
  const prefix = Number(length ?? bits);
  if (version === 0 || prefix > bits) return undefined;
  return { address, prefix, family: version === 6 ? 'ipv6' : 'ipv4' };
}

/** The server joins them by a comma, which no host has. A proxy may have gone by another one than this service would. */
export const explainHosts = ({ headers }: Request): ServiceError | undefined =>
  headers.get('host')?.includes(',') ? malformed('The request has several Host headers') : undefined;
