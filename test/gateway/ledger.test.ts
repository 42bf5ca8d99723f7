// Accounts of answered requests: they outlive the process, and are handed on once.

import { beforeEach, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ServiceEvent } from '../../src/core/event.ts';
import { createLedger } from '../../src/gateway/accounting/ledger.ts';
import type { Account, Measures } from '../../src/gateway/accounting/sums.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';

const ACCOUNT: Account = {
  workspaceId: 'w',
  subject: 'a@example.com',
  keyId: 'k',
  endpoint: 'chat',
  model: 'm',
  target: 'u/m',
  outcome: 'ok',
};
const MEASURES: Measures = {
  requests: 1,
  cost: 0.5,
  latencyMs: 10,
  firstEventMs: 4,
  usage: { promptTokens: 3, completionTokens: 5, estimated: false },
};

let directory: string;
beforeEach(() => {
  directory = freshFolder();
});

/** A process's ledger; `events` may be shared by several, as the database does it: the same one counts once. */
function ledger(events = new Map<string, ServiceEvent>()) {
  const errors: unknown[] = [];
  /** `events`: how many the buffer still takes. It keeps those that it took before it refused one. */
  const buffer = { away: false, events: Number.POSITIVE_INFINITY, refusals: 0 };
  let now = new Date('2026-11-21T10:00:00Z');
  const created = createLedger({
    directory,
    record: async (recorded) => {
      for (const event of recorded) {
        if (buffer.away || buffer.events-- <= 0) {
          buffer.refusals += 1;
          throw new Error('away');
        }
        // No row can be written for a time that is none.
        event.time.toISOString();
        events.set(event.eventId, event);
      }
    },
    clock: { now: () => now },
    log: { ...silentLog, error: (...given: unknown[]) => void errors.push(given) },
  });
  return {
    events,
    errors,
    buffer,
    add: created.add,
    requireRoom: created.requireRoom,
    fault: created.fault,
    job: created.job,
    handOn: async () => created.job.settle?.(),
    setNow: (next: string) => {
      now = new Date(next);
    },
  };
}

/** With a file on disk, as a request finds it, and the next one: what counts as dead later writes nothing more. */
async function openedLedger(events = new Map<string, ServiceEvent>()) {
  const before = sumsFiles().length;
  const opened = ledger(events);
  await roomIn(opened);
  await eventually('the next file', () => sumsFiles().length === before + 2);
  return opened;
}

const sumsFiles = (): string[] =>
  existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.sums')) : [];

const hasRoom = ({ requireRoom }: { requireRoom(): void }): boolean => {
  try {
    requireRoom();
    return true;
  } catch {
    return false;
  }
};
const roomIn = (ledger: { requireRoom(): void }) => eventually('room', () => hasRoom(ledger));

const sumOf = (events: Map<string, ServiceEvent>, name: string): number =>
  [...events.values()].reduce((sum, { data }) => sum + Number(data[name]), 0);

/** As if those who wrote there had died: their locks are free. */
function die(): void {
  for (const name of readdirSync(directory)) if (name.endsWith('.lock')) rmSync(join(directory, name));
}

/** As if the clock had been set, forwards or back. */
function setClock(byMs: number): void {
  const then = new Date(Date.now() - byMs);
  for (const name of readdirSync(directory)) utimesSync(join(directory, name), then, then);
}

/** Files of accounts; not the next one, which has none yet. */
const files = (): string[] =>
  readdirSync(directory).filter((name) => !name.endsWith('.lock') && !isUnused(name.replace(/\.\w+$/, '')));

function isUnused(id: string): boolean {
  try {
    // It has its head when it is opened.
    return !readFileSync(join(directory, `${id}.names`)).includes('\n');
  } catch {
    return false;
  }
}

test('requests of one account are one event, with their sums', async () => {
  const { add, events, handOn } = await openedLedger();
  for (let index = 0; index < 1000; index++) add(ACCOUNT, MEASURES);
  add({ ...ACCOUNT, outcome: 'failed' }, { ...MEASURES, firstEventMs: undefined });
  await handOn();
  const [ok, failed] = events.values();
  expect(ok).toMatchObject({
    workspaceId: 'w/models',
    type: 'model.usage',
    subject: 'a@example.com',
    time: new Date('2026-11-21T10:00:00Z'),
    data: {
      value: 1000,
      key_id: 'k',
      endpoint: 'chat',
      model: 'm',
      target: 'u/m',
      outcome: 'ok',
      requests: 1000,
      estimated: 0,
      prompt_tokens: 3000,
      completion_tokens: 5000,
      cost: 500,
      latency_ms: 10_000,
      first_events: 1000,
      first_event_ms: 4000,
    },
  });
  expect(failed?.data).toMatchObject({ requests: 1, first_events: 0 });
  expect(files()).toEqual([]);
});

test('later parts of a request add to its tokens and cost alone', async () => {
  const { add, events, handOn } = await openedLedger();
  add(ACCOUNT, MEASURES);
  add(ACCOUNT, { ...MEASURES, requests: 0, usage: { ...MEASURES.usage, estimated: true } });
  await handOn();
  expect([...events.values()][0]?.data).toMatchObject({
    requests: 1,
    estimated: 0,
    prompt_tokens: 6,
    cost: 1,
    latency_ms: 10,
  });
});

test('more accounts than a file holds are all kept', async () => {
  const { add, events, handOn } = await openedLedger();
  for (let index = 0; index < 5000; index++) add({ ...ACCOUNT, keyId: `k${index}` }, MEASURES);
  await handOn();
  expect([events.size, sumOf(events, 'requests')]).toEqual([5000, 5000]);
});

describe('what a killed process left', () => {
  test('is handed on by the next one, and nothing of one that lives, wherever the clock is set to', async () => {
    const killed = await openedLedger();
    for (let index = 0; index < 7; index++) killed.add(ACCOUNT, MEASURES);
    for (const byMs of [0, 3_600_000, -3_600_000]) {
      setClock(byMs);
      const other = ledger();
      await other.job.start();
      expect(other.events.size).toBe(0);
      await other.job.stop();
    }
    die();
    const next = ledger();
    await next.job.start();
    await next.job.stop();
    expect(sumOf(next.events, 'requests')).toBe(7);
    expect(files()).toEqual([]);
  });

  test('counts once, though several find it and it wakes up again', async () => {
    const events = new Map<string, ServiceEvent>();
    const paused = await openedLedger(events);
    for (let index = 0; index < 7; index++) paused.add(ACCOUNT, MEASURES);
    die();
    for (const finder of [ledger(events), ledger(events)]) {
      await finder.job.start();
      await finder.job.stop();
    }
    await paused.handOn();
    paused.add(ACCOUNT, MEASURES);
    await paused.handOn();
    expect(sumOf(events, 'requests')).toBe(8);
    expect(paused.errors).toEqual([]);
  });

  test('that cannot be read stays where it is, and delays nothing else', async () => {
    (await openedLedger()).add(ACCOUNT, MEASURES);
    mkdirSync(join(directory, 'a-1.names'));
    writeFileSync(join(directory, 'a-1.sums'), '');
    die();
    const next = ledger();
    await next.job.start();
    await next.job.stop();
    expect(sumOf(next.events, 'requests')).toBe(1);
    expect(next.errors).toHaveLength(1);
    expect(files().toSorted()).toEqual(['a-1.names', 'a-1.sums']);
  });

  test('whose head is damaged stays where it is, is logged, and delays nothing else', async () => {
    const all: string[] = [];
    for (let index = 0; index < 3; index++) {
      const before = new Set(files());
      (await openedLedger()).add(ACCOUNT, MEASURES);
      all.push(files().find((name) => name.endsWith('.names') && !before.has(name)) ?? '');
    }
    const damaged = join(directory, all[1] ?? '');
    writeFileSync(damaged, readFileSync(damaged, 'utf8').replace(/^\d+/, '\0\0\0'));
    die();
    const next = ledger();
    await next.handOn();
    await next.job.stop();
    expect(sumOf(next.events, 'requests')).toBe(2);
    expect(next.errors).toHaveLength(1);
    expect(files()).toHaveLength(2);
  });

  test('is not tried one by one while the buffer refuses: each refusal may take as long as a time-out', async () => {
    for (let index = 0; index < 20; index++) (await openedLedger()).add(ACCOUNT, MEASURES);
    die();
    const next = await openedLedger();
    next.buffer.away = true;
    next.add(ACCOUNT, MEASURES);
    await next.handOn();
    // What others left, and the process's own.
    expect(next.buffer.refusals).toBe(2);
    expect(files()).toHaveLength(42);
    next.buffer.away = false;
    const last = ledger(next.events);
    for (const each of [next, last]) {
      await each.handOn();
      await each.job.stop();
    }
    expect(sumOf(next.events, 'requests')).toBe(21);
    expect(files()).toEqual([]);
  });

  test('may be half written', async () => {
    (await openedLedger()).add(ACCOUNT, MEASURES);
    const [names = ''] = files().filter((name) => name.endsWith('.names'));
    const path = join(directory, names);
    truncateSync(path, readFileSync(path).lastIndexOf('\n') - 5);
    writeFileSync(join(directory, 'x-1.names'), '');
    writeFileSync(join(directory, 'y-1.names'), '17637');
    writeFileSync(join(directory, 'y-1.sums'), 'short');
    die();
    const next = ledger();
    await next.job.start();
    await next.job.stop();
    expect(next.errors).toEqual([]);
    expect(files()).toEqual([]);
    expect(readdirSync(directory).filter((name) => /^[xy]-/.test(name))).toEqual([]);
  });
});

test('a file has all its room from the start: a full disk is an error that is logged, not a signal that kills', async () => {
  (await openedLedger()).add(ACCOUNT, MEASURES);
  const [sums = ''] = sumsFiles();
  const { blocks, size } = statSync(join(directory, sums));
  expect(size).toBeGreaterThan(0);
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
});

test('while no file can be made new requests are refused, and those under way are accounted for in the end', async () => {
  const { add, requireRoom, events, errors, handOn } = ledger();
  rmSync(directory, { recursive: true });
  writeFileSync(directory, 'no folder');
  expect(requireRoom).toThrow(expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 2 }));
  add(ACCOUNT, MEASURES);
  add({ ...ACCOUNT, outcome: 'failed' }, MEASURES);
  await eventually('it to be said', () => errors.length > 0);
  expect(requireRoom).toThrow('cannot be accounted for');
  // Said once.
  expect(errors).toHaveLength(1);
  rmSync(directory);
  await roomIn({ requireRoom });
  add(ACCOUNT, MEASURES);
  await handOn();
  expect(sumOf(events, 'requests')).toBe(3);
  expect(files()).toEqual([]);
});

describe('while events are not recorded', () => {
  test('the file stays, its sums go on, and they count once when there is room again', async () => {
    const { add, buffer, events, handOn } = await openedLedger();
    add(ACCOUNT, MEASURES);
    buffer.away = true;
    for (let round = 0; round < 3; round++) {
      await handOn();
      add(ACCOUNT, MEASURES);
    }
    expect(events.size).toBe(0);
    // However long it lasts: the file that waits, and the one that sums go on in.
    expect(files()).toHaveLength(4);
    buffer.away = false;
    await handOn();
    expect(sumOf(events, 'requests')).toBe(4);
    expect(files()).toEqual([]);
  });

  test('a process that ends leaves them to the next one', async () => {
    const events = new Map<string, ServiceEvent>();
    const ending = await openedLedger(events);
    ending.add(ACCOUNT, MEASURES);
    ending.buffer.away = true;
    await ending.job.stop();
    die();
    const full = ledger(events);
    full.buffer.away = true;
    await full.job.start();
    await full.job.stop();
    expect(events.size).toBe(0);
    const next = ledger(events);
    await next.job.start();
    await next.job.stop();
    expect(sumOf(events, 'requests')).toBe(1);
    expect(files()).toEqual([]);
  });

  test('an event that was recorded before the disk was full counts once', async () => {
    const { add, buffer, events, handOn } = await openedLedger();
    for (const keyId of ['a', 'b', 'c']) add({ ...ACCOUNT, keyId }, MEASURES);
    buffer.events = 2;
    await handOn();
    expect(events.size).toBe(2);
    buffer.events = Number.POSITIVE_INFINITY;
    await handOn();
    expect(sumOf(events, 'requests')).toBe(3);
    expect(files()).toEqual([]);
  });
});

const missing = missingFaultyDisk();
describe.skipIf(missing !== undefined)(
  missing === undefined ? 'a failing disk' : `a failing disk (${missing})`,
  () => {
    test.each([
      ['ENOSPC', 'is full'],
      ['EROFS', 'is read-only'],
      ['EIO', 'fails'],
    ])(
      'that answers %s is told of while no request can be accounted for, and no longer',
      async (error, fault) => {
        await using disk = await mountFaultyDisk();
        directory = join(disk.path, 'models');
        mkdirSync(directory);
        await disk.fail({ calls: ['create', 'write'], path: 'models/*.names', error });
        // It has no file yet: one that there is stays.
        const failing = ledger();
        await failing.job.start();
        expect(failing.requireRoom).toThrow('cannot be accounted for');
        for (let round = 0; round < 2; round++) expect(String(failing.fault())).toBe(fault);
        await disk.clear();
        // Nobody asks for a model meanwhile.
        await eventually('it to be over', () => failing.fault() === undefined);
        failing.requireRoom();
        await failing.job.stop();
      },
    );

    test('that hangs takes accounts in the file that there is, and no request waits for it', async () => {
      await using disk = await mountFaultyDisk();
      directory = join(disk.path, 'models');
      const hanging = await openedLedger();
      hanging.add(ACCOUNT, MEASURES);
      await disk.hang({ calls: ['create', 'write', 'unlink', 'fsync'] });
      for (let round = 0; round < 3; round++) {
        hanging.requireRoom();
        hanging.add(ACCOUNT, MEASURES);
        void hanging.handOn();
        await Bun.sleep(0);
        expect(hanging.fault()).toBeUndefined();
      }
      await disk.clear();
      await hanging.job.stop();
      expect(sumOf(hanging.events, 'requests')).toBe(4);
      expect(files()).toEqual([]);
    });

    test('that hangs from the start is told of', async () => {
      await using disk = await mountFaultyDisk();
      directory = join(disk.path, 'models');
      mkdirSync(directory);
      await disk.hang({ calls: ['write'], path: 'models/*.names' });
      const hanging = ledger();
      expect(hanging.requireRoom).toThrow('cannot be accounted for');
      expect(hanging.fault()).toBe('hangs');
      await disk.clear();
      await eventually('it to be over', () => hanging.fault() === undefined);
      await hanging.job.stop();
    });

    test('that is full closes no file that has no successor: models go on, also behind idle seconds', async () => {
      await using disk = await mountFaultyDisk();
      directory = join(disk.path, 'models');
      const full = await openedLedger();
      full.add(ACCOUNT, MEASURES);
      await disk.fail({ calls: ['create', 'mkdir'], error: 'ENOSPC' });
      for (let round = 0; round < 3; round++) {
        await full.handOn();
        expect(full.fault()).toBeUndefined();
        full.requireRoom();
        full.add(ACCOUNT, MEASURES);
      }
      await disk.clear();
      await full.job.stop();
      expect(sumOf(full.events, 'requests')).toBe(4);
      expect(files()).toEqual([]);
    });

    test('that is full when a file is handed on has room for the requests that were let in before', async () => {
      await using disk = await mountFaultyDisk();
      directory = join(disk.path, 'models');
      const events = new Map<string, ServiceEvent>();
      const killed = await openedLedger(events);
      killed.add(ACCOUNT, MEASURES);
      await disk.fail({ calls: ['create', 'mkdir'], error: 'ENOSPC' });
      // The next file is there already; behind it there is none.
      for (let round = 0; round < 2; round++) {
        killed.requireRoom();
        await killed.handOn();
      }
      killed.add(ACCOUNT, MEASURES);
      await disk.clear();
      die();
      const next = ledger(events);
      await next.handOn();
      expect(sumOf(events, 'requests')).toBe(2);
      for (const each of [killed, next]) await each.job.stop();
    });
  },
);

test.skipIf(missing !== undefined)(
  missing ??
    'sums that the buffer does not take are flushed, also those that go on, and count once in the end',
  async () => {
    await using disk = await mountFaultyDisk();
    directory = join(disk.path, 'models');
    const first = await openedLedger();
    first.buffer.away = true;
    first.add(ACCOUNT, MEASURES);
    await first.handOn();
    first.add({ ...ACCOUNT, keyId: 'another' }, MEASURES);
    await first.handOn();
    expect(files()).toHaveLength(4);
    directory = join(await disk.survivor(), 'models');
    die();
    const next = ledger(first.events);
    await next.handOn();
    expect(files()).toEqual([]);
    expect(sumOf(next.events, 'requests')).toBe(2);
    await next.job.stop();
    first.buffer.away = false;
    directory = join(disk.path, 'models');
    await first.handOn();
    expect(files()).toEqual([]);
    expect(sumOf(first.events, 'requests')).toBe(2);
    await first.job.stop();
  },
);
