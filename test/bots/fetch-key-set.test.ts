// Where a key set may be fetched from. A URL that somebody gave leads to public addresses alone, whatever its name says
// today; one that an operator gave leads anywhere.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { fetchAt, fetchFromPublic, type Lookup, publicAddressesOf } from '../../src/bots/public-fetch.ts';
import { createSigner } from './signer.ts';

// A certificate for keys.example that nobody but these tests trusts.
const pem = (kind: string) => Bun.file(join(import.meta.dir, `keys-example.${kind}.pem`)).text();

let server: ReturnType<typeof Bun.serve>;
let certificate: string;
/** The hosts that it was asked for. */
let asked: (string | null)[] = [];
beforeAll(async () => {
  const { jwk } = await createSigner('first');
  certificate = await pem('cert');
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert: certificate, key: await pem('key') },
    fetch(request) {
      asked.push(request.headers.get('host'));
      return Response.json({ keys: [jwk] });
    },
  });
});
afterAll(() => server.stop(true));
beforeEach(() => {
  asked = [];
});

const at = (host: string): URL => new URL(`https://${host}:${server.port}/keys`);
const signal = () => AbortSignal.timeout(60_000);

/** A fake resolver: the real one cannot be made to give a name of the internet a private address. */
const fakeLookup =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address }));

describe('addresses that are not public', () => {
  const NOT_PUBLIC = [
    '127.0.0.1',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '100.127.255.255',
    '0.0.0.0',
    '0.1.2.3',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::7f00:1',
    '4000::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001::1',
    '100::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
  ];
  test.each(NOT_PUBLIC)('%s: neither as a name has it, nor as a URL', async (address) => {
    const named = publicAddressesOf(at('keys.example'), { signal: signal(), lookup: fakeLookup(address) });
    await expect(named).rejects.toThrow('is not at a public address');
    const literal = at(address.includes(':') ? `[${address}]` : address);
    await expect(publicAddressesOf(literal, { signal: signal() })).rejects.toThrow('not at a public address');
  });

  test('may be written in any way', async () => {
    const spellings = ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.0.1.', '①②⑦.0.0.1'];
    for (const host of [...spellings, '[::ffff:7f00:1]', '[0:0:0:0:0:0:0:1]'])
      await expect(publicAddressesOf(at(host), { signal: signal() })).rejects.toThrow('public address');
    for (const host of ['localhost', 'LOCALHOST.', 'any.localhost'])
      await expect(publicAddressesOf(at(host), { signal: signal() })).rejects.toThrow('is this machine');
  });

  test('are refused also beside public ones', async () => {
    for (const addresses of [
      ['8.8.8.8', '10.0.0.1'],
      ['::1', '2606:4700::1'],
    ]) {
      const found = publicAddressesOf(at('keys.example'), {
        signal: signal(),
        lookup: fakeLookup(...addresses),
      });
      await expect(found).rejects.toThrow('is not at a public address');
    }
  });
});

describe('public addresses', () => {
  test('are told by their names, as many as there are', async () => {
    const addresses = ['8.8.8.8', '100.128.0.1', '172.32.0.1', '2606:4700::1', '::ffff:8.8.8.8'];
    const options = { signal: signal(), lookup: fakeLookup(...addresses) };
    expect(await publicAddressesOf(at('keys.example'), options)).toEqual(addresses);
    expect(await publicAddressesOf(at('8.8.8.8'), { signal: signal() })).toEqual(['8.8.8.8']);
  });

  test('that the resolver never tells are waited for no longer than the fetch may take', async () => {
    const lookup: Lookup = () => new Promise(() => undefined);
    const found = publicAddressesOf(at('keys.example'), { signal: AbortSignal.timeout(20), lookup });
    await expect(found).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('a key set', () => {
  test('of a URL that somebody gave is not asked for where its name leads to a private address', async () => {
    const named = fetchFromPublic(at('keys.example'), { signal: signal(), lookup: fakeLookup('127.0.0.1') });
    await expect(named).rejects.toThrow('public');
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      await expect(fetchFromPublic(at(host), { signal: signal() })).rejects.toThrow(`${at(host).host} is`);
    expect(asked.length).toBe(0);
  });

  test('is asked for at the address that was looked at, from whoever proves to be the host', async () => {
    const response = await fetchAt(at('keys.example'), '127.0.0.1', { signal: signal(), ca: certificate });
    expect(response.status).toBe(200);
    expect(asked).toEqual([`keys.example:${server.port}`]);
    const other = fetchAt(at('other.example'), '127.0.0.1', { signal: signal(), ca: certificate });
    await expect(other).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const untrusted = fetchAt(at('keys.example'), '127.0.0.1', { signal: signal() });
    await expect(untrusted).rejects.toMatchObject({ code: expect.stringContaining('SELF_SIGNED') });
    expect(asked.length).toBe(1);
  });

  test('of a URL that somebody gave is asked for by https alone', async () => {
    const plain = fetchAt(new URL('http://keys.example/'), '127.0.0.1', { signal: signal() });
    await expect(plain).rejects.toThrow('by https');
  });
});
