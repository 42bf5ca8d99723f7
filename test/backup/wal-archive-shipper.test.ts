// What Postgres is told: that a segment is archived, once the store has acknowledged it, and not before; and what two copies of a
// database that archive into one place do to each other.

import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awaitLog } from '../../src/embedded/wal-archive/base.ts';
import { createShipper } from '../../src/embedded/wal-archive/ship.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const FIRST = '000000010000000000000001';
const SECOND = '000000010000000000000002';
const THIRD = '000000010000000000000003';
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
  const state = { away: false, beforeAnswer: async (): Promise<void> => undefined };
  const start = () =>
    createShipper({
      cluster,
      id: '7',
      queueBytesMax,
      log: { ...silentLog, error: (_: object, message: string) => void told.push(message) },
      store: {
        bucket: 'wal',
        ensureBucket: async () => false,
        async add(key, bytes, turn) {
          await turn;
          if (state.away) throw new Error('the store is away');
          sent.push(key);
          if (held.has(key)) return false;
          held.set(key, bytes);
          await state.beforeAnswer();
          return true;
        },
        read: async (key) => held.get(key),
      },
      onGap: () => void told.push('gap'),
    });
  let shipper = start();
  const status = (): string[] => readdirSync(folder).sort();
  return {
    cluster,
    hand,
    held,
    sent,
    told,
    state,
    status,
    shipper: () => shipper,
    restart: (): void => {
      shipper = start();
    },
    ship: (): Promise<void> => shipper.shipAll(new AbortController().signal),
  };
}

test('a file is settled when the store has acknowledged it, the history of a timeline first', async () => {
  const { sent, held, state, status, ship, shipper } = fixture([FIRST, SECOND, HISTORY, 'postmaster.log']);
  state.away = true;
  expect(ship()).rejects.toThrow('the store is away');
  await ship().catch(() => undefined);
  expect(status().filter((name) => name.endsWith('.done'))).toEqual([]);
  expect(await shipper().state()).toMatchObject({
    waiting_segments: 2,
    failure: 'the store is away',
    archived: 0,
  });
  state.away = false;
  const seen: string[][] = [];
  state.beforeAnswer = async () => void seen.push(status());
  await ship();
  expect(seen[0]?.filter((name) => name.endsWith('.done'))).toEqual([]);
  expect(sent[0]).toBe(`7/wal/${HISTORY}.zst`);
  expect(status()).toEqual([`${FIRST}.done`, `${SECOND}.done`, `${HISTORY}.done`, 'postmaster.log.ready']);
  expect([...held.keys()].sort()).toEqual([
    `7/wal/${FIRST}.zst`,
    `7/wal/${SECOND}.zst`,
    `7/wal/${HISTORY}.zst`,
  ]);
  expect(await shipper().state()).toMatchObject({ waiting_segments: 0, failure: null, archived: 3 });
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

/** Twice the first segment, and what is beyond the limit. */
const LIMIT = { queueBytesMax: 16 * 1024 * 1024 };

test('more log than may wait is given up but for its beginning, which is told', async () => {
  const { state, status, told, ship, shipper } = fixture([FIRST, SECOND, THIRD, HISTORY], LIMIT);
  state.away = true;
  await ship().catch(() => undefined);
  expect(status()).toEqual([`${FIRST}.ready`, `${SECOND}.done`, `${THIRD}.done`, `${HISTORY}.ready`]);
  expect(told).toEqual([expect.stringContaining('its moments cannot be restored'), 'gap']);
  expect(await shipper().state()).toMatchObject({ given_up: 2, waiting_segments: 1 });
});

test('the disk does not fill either while the store takes a segment and does not answer', async () => {
  const { state, status, sent, ship, shipper } = fixture([FIRST, SECOND, THIRD], LIMIT);
  const answer = Promise.withResolvers<void>();
  state.beforeAnswer = () => answer.promise;
  const shipping = ship();
  await eventually('a segment to be sent', () => sent.length === 1);
  await shipper().limitQueue();
  expect(status()).toEqual([`${FIRST}.ready`, `${SECOND}.done`, `${THIRD}.done`]);
  answer.resolve();
  await shipping;
  // Postgres may have written other log into the file of the third one by now.
  expect(sent).not.toContain(`7/wal/${THIRD}.zst`);
  expect(status()).toContain(`${FIRST}.done`);
});

test('after a conflict nothing is sent that the other copy would continue, even when log was given up, and after a restart', async () => {
  const { hand, held, sent, ship, shipper, restart } = fixture([], LIMIT);
  held.set(`7/wal/${FIRST}.zst`, new TextEncoder().encode('of another copy'));
  for (const name of [FIRST, SECOND, THIRD]) hand(name);
  await ship().catch(() => undefined);
  expect(shipper().hasConflict()).toBe(true);
  expect(await shipper().state()).toMatchObject({ given_up: 2 });
  hand('000000010000000000000004');
  restart();
  await ship().catch(() => undefined);
  expect(sent).toEqual([`7/wal/${FIRST}.zst`, `7/wal/${FIRST}.zst`]);
  expect(shipper().hasConflict()).toBe(true);
});

test('a base backup waits for its own log, not for that of another copy', async () => {
  const { cluster, hand } = fixture([FIRST]);
  const held = new Set([FIRST, SECOND]);
  const ending = new AbortController();
  const folder = join(cluster, 'pg_wal/archive_status');
  const settle = (name: string): void =>
    renameSync(join(folder, `${name}.ready`), join(folder, `${name}.done`));
  let looks = 0;
  const has = async (name: string): Promise<boolean> => {
    looks += 1;
    return held.has(name);
  };
  const wait = (last: number) =>
    awaitLog(
      { cluster, signal: ending.signal, store: { has } },
      (number) => `00000001${String(number).padStart(16, '0')}`,
      { first: 2, last },
    );
  hand(SECOND);
  const waiting = wait(2);
  // In conflict, so that nothing of this copy is sent.
  await Bun.sleep(1);
  expect(looks).toBe(0);
  settle(FIRST);
  settle(SECOND);
  await waiting;
  expect(wait(3)).rejects.toThrow('was given up');
  hand(THIRD);
  ending.abort();
  expect(wait(3)).rejects.toThrow('abort');
});
