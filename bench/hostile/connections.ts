// Many connections at once, of callers who begin and do not go on: what they cost, and whether others are served meanwhile.

import { hold, renderHead } from './wire.ts';

export type Flood = {
  name: string;
  count: number;
  /** What each connection sends before it says nothing more. */
  bytes(url: URL): Buffer;
};

const ascii = (text: string): Buffer => Buffer.from(text, 'latin1');
const get = (url: URL, target: string): string => renderHead(url, { method: 'GET', target, headers: [] });

/** At a server of any kind. */
const FLOODS: readonly Flood[] = [
  { name: 'idle connections', count: 3000, bytes: () => Buffer.alloc(0) },
  { name: 'half a request line', count: 3000, bytes: () => ascii('GET / HT') },
  {
    name: 'slow heads',
    count: 500,
    bytes: (url) => ascii(`GET / HTTP/1.1\r\nhost: ${url.host}\r\nx-long: ${'a'.repeat(60_000)}`),
  },
  {
    name: 'heads of a megabyte',
    count: 50,
    bytes: () => ascii(`GET / HTTP/1.1\r\nx-long: ${'a'.repeat(1_200_000)}`),
  },
  { name: 'one request, then idle', count: 3000, bytes: (url) => ascii(get(url, '/')) },
  { name: 'pipelined requests', count: 50, bytes: (url) => ascii(get(url, '/').repeat(20)) },
];

/** At the service. */
export const SERVICE_FLOODS: readonly Flood[] = [
  ...FLOODS,
  { name: 'answers that nobody reads', count: 100, bytes: (url) => ascii(get(url, '/docs/json').repeat(2)) },
];

/** At the embedded object store: `bucket` is its name. */
export const storeFloods = (bucket: string): readonly Flood[] => [
  ...FLOODS,
  {
    name: 'forms that begin and stop',
    count: 1500,
    bytes: (url) =>
      ascii(`${formHead(url, bucket)}--b\r\ncontent-disposition: form-data; name="key"\r\n\r\ntemp/`),
  },
  {
    name: 'forms of a megabyte without a signature',
    count: 50,
    bytes: (url) =>
      ascii(
        `${formHead(url, bucket)}--b\r\ncontent-disposition: form-data; name="file"\r\n\r\n${'a'.repeat(1_000_000)}`,
      ),
  },
  {
    name: 'uploads without a signature that stop',
    count: 1500,
    bytes: (url) => ascii(`${put(url, bucket)}${'a'.repeat(1000)}`),
  },
];

const formHead = (url: URL, bucket: string): string =>
  `POST /${bucket} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 5000000\r\n\r\n`;

const put = (url: URL, bucket: string): string =>
  `PUT /${bucket}/key HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: 5000000\r\n\r\n`;

const HELD_MS = 300;

/** Holds the connections for a moment, and does `beside` meanwhile. */
export async function flood<Value>(
  url: URL,
  { count, bytes }: Pick<Flood, 'count' | 'bytes'>,
  beside: () => Promise<Value>,
): Promise<Value> {
  using _ = await hold(url, count, bytes(url));
  await Bun.sleep(HELD_MS);
  return await beside();
}
