import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { drip, openRawClient, type RawClient } from '../support/raw-client.ts';
import { confirmPatiently, createClient } from '../support/setting.ts';

const DRIPPING = 20;
const LEAVING = 20;
const CONNECTIONS = 200;
/** The service closes them after half of this at most. */
const CUT_OFF_MS_MAX = 60_000;

const confirmHead = (framing: string): string =>
  `POST /v1/${WORKSPACE}/upload/confirm HTTP/1.1\r\nHost: atrium\r\nAPIKeyHeader: ${BOOTSTRAP_KEY}\r\n` +
  `Content-Type: application/json\r\n${framing}\r\n\r\n`;

export function describeClients(): void {
  let service: RunningService;
  const dripping: { name: string; client: RawClient; end(): void }[] = [];

  /** They drip while the other tests run: the last one waits for their end. */
  beforeAll(async () => {
    service = await startService();
    const manners = {
      silent: { head: '', rest: undefined },
      'half a head': { head: 'GET / HTTP/1.1\r\nHost: atrium\r\nX-Slow: ', rest: undefined },
      'a dripping head': { head: 'GET / HTTP/1.1\r\nHost: atrium\r\nX-Slow: ', rest: 'a' },
      'half a body': { head: `${confirmHead('Content-Length: 1000')}{"temp_key":`, rest: undefined },
      'a dripping body': { head: `${confirmHead('Content-Length: 1000000')}{"temp_key":"`, rest: 'a' },
      'a dripping chunk': { head: `${confirmHead('Transfer-Encoding: chunked')}fffff\r\n{"`, rest: 'a' },
    };
    for (const [name, { head, rest }] of Object.entries(manners)) {
      for (let count = 0; count < DRIPPING; count++) {
        const client = await openRawClient(service.url);
        client.send(head);
        const { end } = rest === undefined ? { end: client.leave } : drip(client, rest);
        dripping.push({ name, client, end });
      }
    }
  });
  afterAll(async () => {
    for (const { end } of dripping) end();
    await service?.[Symbol.asyncDispose]();
  });

  test('clients that leave amid a request or before its answer do no harm', async () => {
    const client = createClient(service);
    for (let count = 0; count < LEAVING; count++) {
      const tempKey = await client.library.uploaded(`left ${count}`);
      const document_metadata = { name: `${tempKey.slice(-12)} patient.txt` };
      const body = JSON.stringify({ temp_key: tempKey, document_metadata });
      const request = `${confirmHead(`Content-Length: ${body.length}`)}${body}`;
      const leaving = await openRawClient(service.url);
      leaving.send(request.slice(0, count % 2 === 0 ? request.length : request.length - 1 - count));
      await Bun.sleep(count % 4);
      leaving.leave();
      await confirmPatiently(client, tempKey);
    }
    expect(service.child.output()).not.toContain('unexpected failure');
  });

  test('two hundred connections at once are all served', async () => {
    const { id } = await createClient(service).library.stored({}, 'wanted');
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => openRawClient(service.url)));
    try {
      for (let round = 1; round <= 3; round++) {
        const head = `Host: atrium\r\nAPIKeyHeader: ${BOOTSTRAP_KEY}\r\n\r\n`;
        for (const client of clients)
          client.send(`GET /v1/metadata/${WORKSPACE}/${id}/detail HTTP/1.1\r\n${head}`);
        await eventually('every answer', () =>
          clients.every((client) => client.received().split(`"id":"${id}"`).length === round + 1),
        );
      }
      for (const client of clients) expect(client.received().match(/HTTP\/1\.1 200 /g)).toHaveLength(3);
    } finally {
      for (const client of clients) client.leave();
    }
  });

  test('clients that drip or fall silent hold nobody up, and are cut off', async () => {
    const client = createClient(service);
    await client.library.stored({}, 'beside them');
    await eventually(
      'the slow clients to be cut off',
      () => dripping.every((each) => each.client.isClosed()),
      CUT_OFF_MS_MAX,
    ).catch(() => {
      const left = dripping.filter((each) => !each.client.isClosed()).map(({ name }) => name);
      expect([...new Set(left)]).toEqual([]);
    });
    for (const { client: cut } of dripping) expect(cut.received()).toMatch(/^$|^HTTP\/1\.1 408 /);
    expect((await client.call('GET', '/readyz')).status).toBe(200);
  });
}
