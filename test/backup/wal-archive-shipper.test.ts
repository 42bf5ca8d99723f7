// What Postgres is told: that a segment is archived, once the store has acknowledged it, and not before.

import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createShipper } from '../../src/embedded/wal-archive/ship.ts';
import { silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const FIRST = '000000010000000000000001';
const SECOND = '000000010000000000000002';
const HISTORY = '00000002.history';

/** A cluster's folder with files that are ready, and a store in memory. */
function fixture(names: readonly string[], { queueBytesMax = Number.POSITIVE_INFINITY } = {}) {
  const cluster = freshFolder();
  const folder = join(cluster, 'pg_wal/archive_status');
  mkdirSync(folder, { recursive: true });
  const hand = (name: string, content = name): void => {
    writeFileSync(join(cluster, 'pg_wal', name), content);
    writeFileSync(join(folder, `${name}.ready`), '');
  };
  for (const name of names) hand(name);
  const held = new Map<string, Uint8Array>();
  const sent: string[] = [];
  const told: string[] = [];
  const state = { away: false, beforeAnswer: (): void => undefined };
  const shipper = createShipper({
    ...{ cluster, id: '7', queueBytesMax },
    log: { ...silentLog, error: (_: object, message: string) => void told.push(message) },
    store: {
      bucket: 'wal',
      ensureBucket: async () => false,
      async add(key, bytes) {
        if (state.away) throw new Error('the store is away');
        sent.push(key);
        if (held.has(key)) return 'exists';
        held.set(key, bytes);
        state.beforeAnswer();
        return bytes.length;
      },
      read: async (key) => held.get(key),
    },
    onGap: () => void told.push('gap'),
  });
  const status = (): string[] => readdirSync(folder).sort();
  const ship = (): Promise<void> => shipper.shipAll(new AbortController().signal);
  return { hand, held, sent, told, state, shipper, status, ship };
}

test('a file is settled when the store has acknowledged it, the history of a timeline first', async () => {
  const { sent, held, state, status, ship, shipper } = fixture([FIRST, SECOND, HISTORY, 'postmaster.log']);
  state.away = true;
  expect(ship()).rejects.toThrow('the store is away');
  await ship().catch(() => undefined);
  expect(status().filter((name) => name.endsWith('.done'))).toEqual([]);
  expect(await shipper.state()).toMatchObject({
    waiting_segments: 2,
    failure: 'the store is away',
    archived: 0,
  });
  state.away = false;
  const seen: string[][] = [];
  state.beforeAnswer = () => void seen.push(status());
  await ship();
  expect(seen[0]?.filter((name) => name.endsWith('.done'))).toEqual([]);
  expect(sent[0]).toBe(`7/wal/${HISTORY}.zst`);
  expect(status()).toEqual([`${FIRST}.done`, `${SECOND}.done`, `${HISTORY}.done`, 'postmaster.log.ready']);
  expect([...held.keys()].sort()).toEqual([
    `7/wal/${FIRST}.zst`,
    `7/wal/${SECOND}.zst`,
    `7/wal/${HISTORY}.zst`,
  ]);
  expect(await shipper.state()).toMatchObject({ waiting_segments: 0, failure: null, archived: 3 });
});

test('what was acknowledged before a kill is sent again, and another content is refused', async () => {
  const { hand, held, status, ship } = fixture([FIRST]);
  await ship();
  hand(FIRST);
  await ship();
  expect(status()).toContain(`${FIRST}.done`);
  hand(SECOND, 'of this copy');
  held.set(`7/wal/${SECOND}.zst`, new TextEncoder().encode('of another copy'));
  expect(ship()).rejects.toThrow('a copy of this database archives there, too');
  await ship().catch(() => undefined);
  expect(status()).toContain(`${SECOND}.ready`);
  expect(new TextDecoder().decode(held.get(`7/wal/${SECOND}.zst`))).toBe('of another copy');
});

test('more log than may wait is given up, which is told', async () => {
  const { state, status, told, ship, shipper } = fixture([FIRST, SECOND, HISTORY], {
    queueBytesMax: 16 * 1024 * 1024,
  });
  state.away = true;
  await ship().catch(() => undefined);
  expect(status()).toEqual([`${FIRST}.done`, `${SECOND}.done`, `${HISTORY}.ready`]);
  expect(told).toEqual([expect.stringContaining('its moments cannot be restored'), 'gap']);
  expect(await shipper.state()).toMatchObject({ given_up: 2, waiting_segments: 0 });
});
