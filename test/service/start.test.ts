// A service that starts from damaged leftovers, and answers what no ordinary client sends.

import { expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

setDefaultTimeout(60_000);

/** The status of the answer to a head that is sent as it stands. */
function statusOf(url: string, head: string[]): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n`));
    socket.on('data', (bytes) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3}) /.exec(bytes.toString('latin1'))?.[1]));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('no answer')));
  });
}

test('a request whose Host header is malformed or absent is answered as any other', async () => {
  await using service = await startService();
  for (const host of [
    'host: a b',
    'host: ',
    'host: [::1',
    'host: a/b',
    'host: a?b',
    'host: %zz',
    'x-none: 1',
  ]) {
    const version = host.startsWith('host') ? '1.1' : '1.0';
    const ask = (path: string) =>
      statusOf(service.url, [`GET ${path} HTTP/${version}`, host, `APIKeyHeader: ${BOOTSTRAP_KEY}`]);
    expect([host, await ask(`/v1/${WORKSPACE}/trash?limit=1`)]).toEqual([host, 200]);
    expect([host, await ask(`/v1/${WORKSPACE}/trash?limit=0`)]).toEqual([host, 422]);
    expect([host, await ask(`/v1/${WORKSPACE}/upload/confirm`)]).toEqual([host, 405]);
    expect([host, await ask('/nowhere/at/all/to/be/found')]).toEqual([host, 404]);
  }
  expect(service.child.output()).not.toContain('"level":"error"');
});

test.each(['', '{"secretAccessKey":"abc","po', 'null'])(
  'an object-store.json that holds %j is replaced, and said to be damaged',
  async (content) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'atrium-start-'));
    writeFileSync(join(dataDir, 'object-store.json'), content);
    {
      await using service = await startService({ dataDir });
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      expect(service.child.output()).toContain('the file is damaged');
    }
    await using service = await startService({ dataDir });
    expect(service.child.output()).not.toContain('the file is damaged');
    await service.child.stop();
    rmSync(dataDir, { recursive: true });
  },
);
