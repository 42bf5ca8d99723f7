// A process that stores events may stop, or lose its network, between any two of its messages to the database, and for as long as it
// likes: no reader waits for it meanwhile.

import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { STORAGE_LOCK } from '../../src/usage/store/lock-stripes.ts';
import { createOutboxStore } from '../../src/usage/store/outbox.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { connectTo, testDatabase } from '../support/database.ts';

const COPY_IN_RESPONSE = 'G'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
const IN_TRANSACTION = 'T'.charCodeAt(0);

const database = await testDatabase();
/** The locks that were held each time the server waited in a transaction for the process. */
const held: number[] = [];
const relay = await startRelay(new URL(database.url), async () => {
  const [row] = await database.sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = ${STORAGE_LOCK}
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  held.push(row?.count ?? 0);
});
const sql = connectTo(relay.url);
afterAll(async () => {
  await sql.end({ timeout: 1 });
  relay.close();
  await database.drop();
});

/** A way to the server, on which an answer after which the server waits in a transaction passes when `look` has ended. */
async function startRelay(target: URL, look: () => Promise<void>) {
  const listener = createServer((client) => {
    const server = connect({ host: target.hostname, port: Number(target.port) });
    for (const socket of [client, server])
      socket
        .setNoDelay(true)
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy();
          server.destroy();
        });
    client.pipe(server);
    const answer = async (): Promise<void> => {
      let rest = Buffer.alloc(0);
      for await (const chunk of server) {
        rest = Buffer.concat([rest, chunk]);
        let isWaiting = false;
        for (let end = 0; rest.length >= 5; rest = rest.subarray(end)) {
          end = 1 + rest.readInt32BE(1);
          if (rest.length < end) break;
          isWaiting ||= rest[0] === COPY_IN_RESPONSE;
          isWaiting ||= rest[0] === READY_FOR_QUERY && rest[5] === IN_TRANSACTION;
        }
        if (isWaiting) await look();
        client.write(chunk);
      }
    };
    void answer().catch(() => undefined);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = `${(listener.address() as AddressInfo).port}`;
  return { url: url.href, close: () => void listener.close() };
}

const rowOf = (workspaceId: string): Buffer =>
  encodeRow({
    id: newId(),
    workspaceId,
    eventId: newId(),
    source: 'app',
    type: 'a.b',
    subject: '',
    timeMicroseconds: 0n,
    data: '{"value":1}',
    extensions: null,
    value: '1',
  });
const countStored = async (workspaceId: string): Promise<number> =>
  (await database.sql`SELECT FROM usage_events WHERE workspace_id = ${workspaceId}`).length;

test('a lock that is held while the server waits for the process is seen', async () => {
  await sql.begin((tx) => tx.unsafe(`SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, 1)`));
  expect(held.splice(0)).toContain(1);
});

test('events of the buffer are stored without one', async () => {
  const writer = createEventWriter(sql);
  for (let batch = 0; batch < 2; batch++) await writer.store([rowOf('a'), rowOf('b')]);
  writer.close();
  expect(await countStored('a')).toBe(2);
  expect(held.length).toBeGreaterThan(0);
  expect(held.splice(0).filter((locks) => locks > 0)).toEqual([]);
});

test('events of the outbox are moved without one', async () => {
  const outbox = createOutboxStore(sql);
  for (let batch = 1; batch <= 2; batch++) {
    await database.sql`SELECT usage_tell('moved', 'chat.delete', '', json_build_object('value', '1', 'chat_session_id', 1))`;
    await outbox.move(await outbox.oldest(10));
    expect(await countStored('moved')).toBe(batch);
  }
  outbox.close();
  expect(held.splice(0).filter((locks) => locks > 0)).toEqual([]);
});

test('whoever waits for a lock of a process that hangs in a transaction is still answered', async () => {
  const [row] = await sql<{ isInTime: boolean }[]>`
    SELECT current_setting('idle_in_transaction_session_timeout')::interval
      < current_setting('statement_timeout')::interval AS "isInTime"`;
  expect(row?.isInTime).toBeTrue();
});
