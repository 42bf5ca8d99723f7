// The JetStream buffer and its server: what it refuses, what it says, and what happens when the server goes away.

import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { connect } from 'nats';
import { createJetStreamBuffer, type JetStreamSettings } from '../../src/usage/buffer/jetstream/index.ts';
import { eventually, freePort } from '../support/child.ts';
import { missingNats, type NatsServer, OLD_NATS_SERVER, startNats } from '../support/nats-server.ts';
import { collectingLog } from './event-buffers.ts';

setDefaultTimeout(60_000);

const BYTES_MAX = 2 ** 30;

const settingsOf = (server: Pick<NatsServer, 'url' | 'monitorUrl'>): JetStreamSettings => ({
  ...{ url: server.url, monitorUrl: server.monitorUrl, creds: undefined },
  ...{ streamPrefix: 'TEST', replicas: 1, bytesMax: BYTES_MAX },
});

function open(settings: JetStreamSettings) {
  const { log, lines } = collectingLog();
  const buffer = createJetStreamBuffer({ settings, log });
  return { buffer, lines, [Symbol.asyncDispose]: () => buffer.close() };
}

const missing = missingNats();
describe.skipIf(missing !== undefined)(`JetStream${missing === undefined ? '' : ` (${missing})`}`, () => {
  test('says once what is lost when the server acknowledges before it syncs, and what mends it', async () => {
    await using server = await startNats({ syncs: false });
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    const durability = opened.buffer.durability();
    expect(durability).toMatchObject({
      synced: false,
      warning: expect.stringContaining('sync_interval: always'),
    });
    expect(opened.lines.filter(({ message }) => message.includes('sync_interval')).length).toBe(1);
  });

  test('counts a server that does not show whether it syncs as one that does not', async () => {
    await using server = await startNats({ monitored: false });
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    const warning = expect.stringMatching(/could not be seen.*NATS_MONITOR_URL/);
    expect(opened.buffer.durability()).toMatchObject({ synced: false, warning });
  });

  test('refuses a server without JetStream in one line', async () => {
    await using server = await startNats({ jetstream: false });
    await using opened = open(settingsOf(server));
    const refused = await opened.buffer.start().catch((error: Error) => error.message);
    expect(refused).toStartWith('NATS_URL: the server has no JetStream');
  });

  const old = existsSync(OLD_NATS_SERVER) || process.env['REQUIRE_SERVERS'] === '1';
  test.skipIf(!old)(
    `refuses a server that cannot sync before it acknowledges (${OLD_NATS_SERVER})`,
    async () => {
      await using server = await startNats({ binary: OLD_NATS_SERVER, syncs: false });
      await using opened = open(settingsOf(server));
      const refused = await opened.buffer.start().catch((error: Error) => error.message);
      expect(refused).toMatch(/nats-server 2\.9\.\d+ cannot sync before it acknowledges.*use 2\.10 or later/);
    },
  );

  test('refuses a stream that is somebody else’s, and brings its own up to date', async () => {
    await using server = await startNats();
    const connection = await connect({ servers: server.url });
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: 'OTHER_EVENTS', subjects: ['other'] });
    await using foreign = open({ ...settingsOf(server), streamPrefix: 'OTHER' });
    const refused = await foreign.buffer.start().catch((error: Error) => error.message);
    expect(refused).toContain('not ours: set NATS_STREAM_PREFIX');
    {
      await using first = open(settingsOf(server));
      await first.buffer.start();
    }
    await using second = open({ ...settingsOf(server), bytesMax: 2 * BYTES_MAX });
    await second.buffer.start();
    expect((await manager.streams.info('TEST_EVENTS')).config.max_bytes).toBe(2 * BYTES_MAX);
    await connection.close();
  });

  test('starts while the server is away, answers 503 at once, and works when it comes', async () => {
    await using server = await startNats();
    await server.kill();
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    const startedAt = performance.now();
    await expect(opened.buffer.append(new Uint8Array(10))).rejects.toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    await server.start();
    await eventually(
      'an append',
      () =>
        opened.buffer.append(new Uint8Array(10)).then(
          () => true,
          () => false,
        ),
      5000,
    );
  });

  test('loses nothing that was acknowledged when the server is killed amid appends', async () => {
    await using server = await startNats();
    await using opened = open(settingsOf(server));
    const { buffer } = opened;
    await buffer.start();
    const acknowledged = new Set<string>();
    let slowestMs = 0;
    let ending = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0; !ending; index++) {
        const text = `${writer} ${index}`;
        const startedAt = performance.now();
        await buffer.append(new TextEncoder().encode(text)).then(
          () => acknowledged.add(text),
          () => Bun.sleep(5),
        );
        slowestMs = Math.max(slowestMs, performance.now() - startedAt);
      }
    });
    for (let round = 0; round < 3; round++) {
      const before = acknowledged.size;
      await eventually('some appends', () => acknowledged.size > before + 50);
      await server.kill();
      await server.start();
      const atReturn = acknowledged.size;
      await eventually('it works again', () => acknowledged.size > atReturn, 5000);
    }
    ending = true;
    await Promise.all(writers);
    expect(slowestMs).toBeLessThan(2000);
    const delivered = new Set<string>();
    await eventually('everything to be delivered', async () => {
      const some = await buffer.fetch({ bytesMax: 2 ** 20, waitMs: 200 });
      for (const { pack } of some) delivered.add(new TextDecoder().decode(pack));
      await buffer.acknowledge(some);
      return [...acknowledged].every((text) => delivered.has(text));
    });
  });

  test('makes a stream anew that was deleted', async () => {
    await using server = await startNats();
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    const connection = await connect({ servers: server.url });
    await (await connection.jetstreamManager()).streams.delete('TEST_EVENTS');
    await connection.close();
    await eventually(
      'an append',
      () =>
        opened.buffer.append(new Uint8Array(10)).then(
          () => true,
          () => false,
        ),
      5000,
    );
  });

  test('writes no password into the log', async () => {
    const url = `nats://user:very-secret@127.0.0.1:${freePort()}`;
    await using opened = open({ ...settingsOf({ url, monitorUrl: 'http://127.0.0.1:1' }) });
    await opened.buffer.start();
    const shown = opened.lines.map((line) => Bun.inspect(line)).join('\n');
    expect(shown).toContain('not reachable');
    expect(shown).not.toContain('very-secret');
  });
});
