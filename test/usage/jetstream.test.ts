// The JetStream buffer and its server: what it refuses, what it says, and what happens when the server goes away.

import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { connect, DiscardPolicy, nanos } from 'nats';
import type { EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { JetStreamBuffer, type JetStreamSettings } from '../../src/usage/buffer/jetstream/index.ts';
import { eventually, freePort } from '../support/child.ts';
import { findOldNats, missingNats, type NatsServer, startNats } from '../support/nats-server.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { collectingLog, untilReady } from './event-buffers.ts';

const BYTES_MAX = 2 ** 30;

const settingsOf = (server: Pick<NatsServer, 'url' | 'monitorUrl'>): JetStreamSettings => ({
  url: server.url,
  monitorUrl: server.monitorUrl,
  creds: undefined,
  streamPrefix: 'TEST',
  replicas: 1,
  bytesMax: BYTES_MAX,
});

function open(settings: JetStreamSettings, identity = async () => 'one') {
  const { log, lines } = collectingLog();
  const buffer = new JetStreamBuffer({ settings, identity, log });
  return { buffer, lines, [Symbol.asyncDispose]: () => buffer.close() };
}

/** Opens and starts it on a server that serves; then the stream is there, and what an acknowledgement is worth is known. */
async function serving(...given: Parameters<typeof open>) {
  const opened = open(...given);
  await opened.buffer.start();
  await untilReady(opened.buffer);
  await eventually('what an acknowledgement is worth', () => {
    const durability = opened.buffer.durability();
    return durability.synced || !durability.warning.includes('not been reached');
  });
  return opened;
}

const starting = (settings: JetStreamSettings, identity?: () => Promise<string>) => {
  const opened = open(settings, identity);
  const refused = opened.buffer.start().then(
    () => '',
    (error: Error) => error.message,
  );
  return { ...opened, refused };
};

const works = (buffer: EventBuffer): Promise<boolean> =>
  buffer.append(new Uint8Array(10)).then(
    () => true,
    () => false,
  );

/** The interface says 2 s. The clock is the one by which the buffer gives up: a busy machine delays both. */
async function inTime<Value>(work: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer within two seconds')), 2000);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** The interface says 5 s; the rest is for a slow machine. */
const RETURN_MS = 20_000;

const USER = { user: 'user', password: 'very-secret' };
const shown = (lines: readonly object[]): string => lines.map((line) => Bun.inspect(line)).join('\n');

const missing = missingNats();
describe.skipIf(missing !== undefined)(`JetStream${missing === undefined ? '' : ` (${missing})`}`, () => {
  test('says once what is lost when the server acknowledges before it syncs, and what mends it', async () => {
    await using server = await startNats({ syncs: false });
    await using opened = await serving(settingsOf(server));
    const durability = opened.buffer.durability();
    expect(durability).toMatchObject({
      synced: false,
      warning: expect.stringContaining('sync_interval: always'),
    });
    expect(opened.lines.filter(({ message }) => message.includes('sync_interval')).length).toBe(1);
  });

  test('counts a server that does not show whether it syncs as one that does not', async () => {
    await using server = await startNats({ monitored: false });
    await using opened = await serving(settingsOf(server));
    const warning = expect.stringMatching(/could not be seen.*NATS_MONITOR_URL/);
    expect(opened.buffer.durability()).toMatchObject({ synced: false, warning });
  });

  test('refuses a server without JetStream in one line', async () => {
    await using server = await startNats({ jetstream: false });
    await using opened = starting(settingsOf(server));
    expect(await opened.refused).toStartWith('NATS_URL: the server has no JetStream');
  });

  const old = findOldNats();
  const lacking = old === undefined ? ' (needs nats-server 2.9)' : '';
  test.skipIf(old === undefined)(
    `refuses a server that cannot sync before it acknowledges${lacking}`,
    async () => {
      await using server = await startNats({ syncs: false, ...(old === undefined ? {} : { binary: old }) });
      await using opened = starting(settingsOf(server));
      expect(await opened.refused).toMatch(
        /nats-server 2\.9\.\d+ cannot sync before it acknowledges.*use 2\.10 or later/,
      );
    },
  );

  test('refuses settings that the server cannot follow, by their names', async () => {
    await using server = await startNats();
    await using copies = starting({ ...settingsOf(server), replicas: 3 });
    expect(await copies.refused).toMatch(/^NATS_REPLICAS: .*TEST_EVENTS.*replicas/);
    await using large = starting({ ...settingsOf(server), bytesMax: 2 ** 50 });
    expect(await large.refused).toMatch(/^EVENT_BUFFER_BYTES_MAX: .*TEST_EVENTS.*storage/);
  });

  test('says once, and goes on refusing, when the server that comes later cannot serve', async () => {
    await using server = await startNats({ jetstream: false });
    await server.kill();
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    await server.start();
    const told = () => opened.lines.filter(({ message }) => message.includes('no JetStream'));
    await eventually('the refusal', () => told().length > 0);
    await Bun.sleep(1200);
    expect(told().length).toBe(1);
    await expect(opened.buffer.append(new Uint8Array(10))).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('does not take another page for that of its server', async () => {
    await using server = await startNats();
    await using other = await startNats({ jetstream: false });
    await using opened = await serving({ ...settingsOf(server), monitorUrl: other.monitorUrl });
    const warning = expect.stringContaining('could not be seen');
    expect(opened.buffer.durability()).toMatchObject({ synced: false, warning });
  });

  test.each([true, false])('asks the system account where it may (syncs: %p)', async (syncs) => {
    const subject = '$SYS.REQ.SERVER.PING.VARZ';
    const configuration = `
      system_account: SYS
      accounts {
        SYS { users: [{ user: sys, password: sys }], exports: [{ service: "${subject}" }] }
        APP {
          jetstream: enabled
          users: [{ user: ${USER.user}, password: ${USER.password} }]
          imports: [{ service: { account: SYS, subject: "${subject}" } }]
        }
      }`;
    await using server = await startNats({ syncs, monitored: false, configuration, credentials: USER });
    await using opened = await serving(settingsOf(server));
    const { synced } = opened.buffer.durability();
    expect(synced).toBe(syncs);
    if (!syncs) expect(shown(opened.lines)).toContain('(every 120 seconds)');
  });

  test('refuses a pack that the server takes for too large as such', async () => {
    await using server = await startNats({ configuration: 'max_payload: 65536' });
    await using opened = await serving(settingsOf(server));
    await opened.buffer.append(randomBytes(65_536));
    const refused = opened.buffer.append(randomBytes(65_537));
    await expect(refused).rejects.toMatchObject({ kind: 'too-large' });
    expect(await works(opened.buffer)).toBeTrue();
  });

  test('lets several processes make the stream at once', async () => {
    await using server = await startNats();
    const all = Array.from({ length: 4 }, () => starting(settingsOf(server)));
    expect(await Promise.all(all.map(({ refused }) => refused))).toEqual(['', '', '', '']);
    await Promise.all(all.map(({ buffer }) => untilReady(buffer)));
    expect(await Promise.all(all.map(({ buffer }) => works(buffer)))).toEqual([true, true, true, true]);
    expect((await all[0]?.buffer.metrics())?.packs).toBe(4);
    await Promise.all(all.map(({ buffer }) => buffer.close()));
  });

  test('answers in time while the server hangs, and works when it goes on', async () => {
    await using server = await startNats();
    await using opened = await serving(settingsOf(server));
    server.pause();
    const refused = inTime(opened.buffer.append(new Uint8Array(10)));
    await expect(refused).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(opened.buffer.fetch({ bytesMax: 1000, packsMax: 500, waitMs: 100 })).rejects.toThrow();
    await expect(opened.buffer.metrics()).rejects.toThrow();
    server.resume();
    await eventually('an append', () => works(opened.buffer), RETURN_MS);
  });

  test('makes progress with a server that answers slowly, from its greeting on, and does not leave it', async () => {
    await using server = await startNats();
    await using proxy = await startTcpProxy(server.url);
    {
      await using _ = await serving(settingsOf(server));
    }
    // Longer than is waited for an answer of a server that was never slow.
    proxy.delay(2100, 'down');
    await using opened = open(settingsOf({ url: proxy.url, monitorUrl: server.monitorUrl }));
    const { buffer } = opened;
    await buffer.start();
    await eventually('an append', () => works(buffer));
    expect(await Promise.all([works(buffer), works(buffer)])).toEqual([true, true]);
    expect(await works(buffer)).toBeTrue();
    const some = await eventually('a delivery', async () => {
      const found = await buffer.fetch({ bytesMax: 2 ** 20, packsMax: 500, waitMs: 200 }).catch(() => []);
      return found.length > 0 && found;
    });
    await buffer.acknowledge(some);
    expect(shown(opened.lines)).not.toMatch(/is lost|another of its servers/);
  });

  test('makes a consumer anew that was deleted', async () => {
    await using server = await startNats();
    await using opened = await serving(settingsOf(server));
    const { buffer } = opened;
    await buffer.append(new Uint8Array(10));
    const connection = await connect({ servers: server.url });
    await (await connection.jetstreamManager()).consumers.delete('TEST_EVENTS', 'sink');
    await connection.close();
    await expect(buffer.fetch({ bytesMax: 1000, packsMax: 500, waitMs: 100 })).rejects.toThrow();
    await eventually(
      'a pack',
      async () =>
        (await buffer.fetch({ bytesMax: 1000, packsMax: 500, waitMs: 100 }).catch(() => [])).length > 0,
      RETURN_MS,
    );
  });

  test('refuses a stream that is somebody else’s, and brings its own up to date', async () => {
    await using server = await startNats();
    const connection = await connect({ servers: server.url });
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: 'OTHER_EVENTS', subjects: ['other'] });
    await using foreign = starting({ ...settingsOf(server), streamPrefix: 'OTHER' });
    expect(await foreign.refused).toContain('not ours: set NATS_STREAM_PREFIX');
    {
      await using _ = await serving(settingsOf(server));
    }
    await manager.consumers.update('TEST_EVENTS', 'sink', { ack_wait: nanos(1000), max_deliver: 3 });
    await using _ = await serving({ ...settingsOf(server), bytesMax: 2 * BYTES_MAX });
    const { config } = await manager.consumers.info('TEST_EVENTS', 'sink');
    expect(config).toMatchObject({ ack_wait: nanos(15_000), max_deliver: -1 });
    expect((await manager.streams.info('TEST_EVENTS')).config.max_bytes).toBe(2 * BYTES_MAX);
    await connection.close();
  });

  test('refuses the stream of another database, at the start and at reconnecting, and keeps their events apart', async () => {
    await using server = await startNats();
    await using first = await serving(settingsOf(server));
    await first.buffer.append(new Uint8Array(10));
    await using second = starting(settingsOf(server), async () => 'two');
    expect(await second.refused).toMatch(
      /^NATS_STREAM_PREFIX: the stream TEST_EVENTS .*another database.*prefix/,
    );
    await using apart = await serving({ ...settingsOf(server), streamPrefix: 'APART' }, async () => 'two');
    expect((await apart.buffer.metrics()).packs).toBe(0);

    // While the first is not looking, somebody gives its stream to the other.
    await server.kill();
    await server.start();
    await eventually('the first to be back', () => works(first.buffer));
    const connection = await connect({ servers: server.url });
    const { streams } = await connection.jetstreamManager();
    await streams.delete('TEST_EVENTS');
    await using heir = await serving(settingsOf(server), async () => 'two');
    await first.buffer.metrics().catch(() => undefined);
    const refusals = () => first.lines.filter(({ message }) => message.includes('NATS_STREAM_PREFIX'));
    await eventually('the refusal', () => refusals().length > 0);
    expect(await works(first.buffer)).toBeFalse();
    await server.kill();
    await server.start();
    await eventually('the other to be back', () => works(heir.buffer));
    expect(await works(first.buffer)).toBeFalse();
    expect((await heir.buffer.metrics()).packs).toBeGreaterThan(0);
    expect(refusals().length).toBe(1);
    await connection.close();
  });

  test('adopts a stream that names no database, once, and finds out who was quicker', async () => {
    await using server = await startNats();
    const connection = await connect({ servers: server.url });
    const { streams } = await connection.jetstreamManager();
    {
      await using earlier = await serving(settingsOf(server));
      await earlier.buffer.append(new Uint8Array(10));
    }
    await streams.update('TEST_EVENTS', { metadata: { team: 'search' } });
    await using adopting = await serving(settingsOf(server));
    expect((await adopting.buffer.metrics()).packs).toBe(1);
    const { metadata } = (await streams.info('TEST_EVENTS')).config;
    expect(metadata).toMatchObject({ team: 'search', atrium_database: 'one' });
    await using late = starting(settingsOf(server), async () => 'two');
    expect(await late.refused).toContain('another database');
    // As when another service had read the stream before, and wrote its own mark after.
    await streams.update('TEST_EVENTS', { metadata: { atrium_database: 'two' } });
    await expect(adopting.buffer.metrics()).rejects.toThrow();
    await eventually('the refusal', () => shown(adopting.lines).includes('another database'));
    expect(await works(adopting.buffer)).toBeFalse();
    await connection.close();
  });

  test('takes no event before it knows its database, and asks for that until it does', async () => {
    await using server = await startNats();
    let away = true;
    await using opened = open(settingsOf(server), async () => {
      if (away) throw new Error('the database is away');
      return 'one';
    });
    await opened.buffer.start();
    await expect(opened.buffer.append(new Uint8Array(10))).rejects.toMatchObject({ kind: 'unavailable' });
    away = false;
    await eventually('an append', () => works(opened.buffer), RETURN_MS);
  });

  test('keeps a stream that refuses what it has no room for, and never drops what it has, also where it was changed', async () => {
    await using server = await startNats();
    const connection = await connect({ servers: server.url });
    const { streams } = await connection.jetstreamManager();
    const keeps = {
      retention: 'workqueue',
      storage: 'file',
      discard: 'new',
      max_bytes: BYTES_MAX,
      max_age: 0,
    };
    const unlimited = { max_msgs: -1, max_msgs_per_subject: -1 };
    for (let round = 0; round < 2; round++) {
      await using _ = await serving(settingsOf(server));
      expect((await streams.info('TEST_EVENTS')).config).toMatchObject({ ...keeps, ...unlimited });
      await streams.update('TEST_EVENTS', { discard: DiscardPolicy.Old, max_age: nanos(3_600_000) });
    }
    await connection.close();
  });

  test('starts while the server is away, answers 503 at once, and works when it comes', async () => {
    await using server = await startNats();
    await server.kill();
    await using opened = open(settingsOf(server));
    await opened.buffer.start();
    const refused = inTime(opened.buffer.append(new Uint8Array(10)));
    await expect(refused).rejects.toMatchObject({ kind: 'unavailable' });
    await server.start();
    await eventually('an append', () => works(opened.buffer), RETURN_MS);
  });

  test('loses nothing that was acknowledged when the server is killed amid appends', async () => {
    await using server = await startNats();
    await using opened = await serving(settingsOf(server));
    const { buffer } = opened;
    const acknowledged = new Set<string>();
    let late = 0;
    let ending = false;
    let away = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0; !ending; index++) {
        const text = `${writer} ${index}`;
        const appended = buffer.append(new TextEncoder().encode(text)).then(
          () => acknowledged.add(text),
          () => Bun.sleep(5),
        );
        // A server that is there may be slow, which is waited for; one that is gone is not.
        await (away ? inTime(appended) : appended).catch(() => {
          late += 1;
        });
      }
    });
    for (let round = 0; round < 3; round++) {
      const before = acknowledged.size;
      await eventually('some appends', () => acknowledged.size > before + 50);
      await server.kill();
      away = true;
      await Bun.sleep(100);
      away = false;
      await server.start();
      const atReturn = acknowledged.size;
      await eventually('it works again', () => acknowledged.size > atReturn, RETURN_MS);
    }
    ending = true;
    await Promise.all(writers);
    expect(late).toBe(0);
    const delivered = new Set<string>();
    await eventually('everything to be delivered', async () => {
      // A server that has just been started may be slow to answer.
      const some = await buffer.fetch({ bytesMax: 2 ** 20, packsMax: 500, waitMs: 200 }).catch(() => []);
      for (const { pack } of some) delivered.add(new TextDecoder().decode(pack));
      await buffer.acknowledge(some).catch(() => undefined);
      return [...acknowledged].every((text) => delivered.has(text));
    });
  });

  test('makes a stream anew that was deleted', async () => {
    await using server = await startNats();
    await using opened = await serving(settingsOf(server));
    const connection = await connect({ servers: server.url });
    await (await connection.jetstreamManager()).streams.delete('TEST_EVENTS');
    await connection.close();
    await eventually('an append', () => works(opened.buffer), RETURN_MS);
  });

  test('writes no password into the log', async () => {
    await using server = await startNats({
      credentials: USER,
      syncs: false,
      configuration: `authorization { user: ${USER.user}, password: ${USER.password} }`,
    });
    const away = `nats://user:very-secret@127.0.0.1:${freePort()}`;
    const cases = [
      { url: server.url, says: 'connected to NATS' },
      { url: server.url.replace('very-secret', 'wrong-secret'), says: 'Authorization Violation' },
      { url: away, says: 'not reachable' },
    ];
    for (const { url, says } of cases) {
      await using opened = open(settingsOf({ url, monitorUrl: 'http://127.0.0.1:1' }));
      await opened.buffer.start();
      await eventually(says, () => new RegExp(says, 'i').test(shown(opened.lines)));
      expect(shown(opened.lines)).not.toMatch(/(?:very|wrong)-secret/);
    }
  });
});
