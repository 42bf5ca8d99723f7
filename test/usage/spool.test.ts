// The service's own events: on disk when recorded, handed on whatever happens, and never in anybody's way.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Appender } from '../../src/usage/appender.ts';
import { createRecord } from '../../src/usage/record.ts';
import { decodeRow, encodeRow } from '../../src/usage/row.ts';
import { createSpool } from '../../src/usage/spool.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';
import { mountDisk } from '../support/small-disk.ts';

let root: string;
let folders = 0;
beforeAll(() => {
  root = freshFolder();
});

/** As if the clock had been set since the files were written, forwards or back. */
function setClock(directory: string, byMs: number): void {
  const then = new Date(Date.now() - byMs);
  for (const name of readdirSync(directory)) utimesSync(join(directory, name), then, then);
}

/** Without the lock of their process. */
const files = (directory: string): string[] =>
  readdirSync(directory).filter((name) => !name.endsWith('.lock'));

/** A buffer that can be away. */
function createFakeAppender() {
  const taken: string[] = [];
  const state = { away: false };
  const appender: Appender = {
    append: async (rows) => {
      if (state.away) throw new Error('away');
      taken.push(...rows.map((row) => decodeRow(Buffer.from(row)).subject));
    },
  };
  return { appender, taken, state };
}

const openSpool = (appender: Appender, directory = join(root, `${++folders}`)) => {
  const spool = createSpool({ directory, appender, log: silentLog });
  const { record, metrics } = createRecord({ spool, log: silentLog });
  const tell = (subject: string): boolean =>
    record({
      ...{ workspaceId: 'w', type: 'model.usage', subject, data: { value: 1 } },
      ...{ eventId: crypto.randomUUID(), time: new Date() },
    });
  return { directory, spool, tell, metrics };
};

test('hands on what was recorded, in order, and leaves nothing behind', async () => {
  const { appender, taken } = createFakeAppender();
  const { directory, spool, tell } = openSpool(appender);
  await spool.job.start();
  for (let index = 0; index < 100; index++) tell(`${index}`);
  expect(files(directory).length).toBe(1);
  await eventually('all of them', () => taken.length === 100);
  expect(taken).toEqual(Array.from({ length: 100 }, (_, index) => `${index}`));
  await spool.job.settle?.();
  expect(files(directory)).toEqual([]);
  await spool.job.stop();
  expect(readdirSync(directory)).toEqual([]);
});

test('waits for a buffer that is away, with few files', async () => {
  const { appender, taken, state } = createFakeAppender();
  const { directory, spool, tell } = openSpool(appender);
  await spool.job.start();
  state.away = true;
  for (let index = 0; index < 300; index++) {
    tell(`${index}`);
    if (index % 50 === 0) await Bun.sleep(25);
  }
  expect(taken).toEqual([]);
  expect(files(directory).length).toBeLessThan(5);
  state.away = false;
  await eventually('all of them', () => taken.length === 300);
  expect(taken).toEqual(Array.from({ length: 300 }, (_, index) => `${index}`));
  await spool.job.stop();
});

test('finds what a killed process has left, also a last event that was cut off, and shares it with others that find it', async () => {
  const { appender, taken } = createFakeAppender();
  const directory = join(root, `${++folders}`);
  mkdirSync(directory);
  const rows = ['a', 'b'].map((subject) =>
    encodeRow({
      ...{ id: Bun.randomUUIDv7(), workspaceId: 'w', eventId: subject, source: 's', type: 't', subject },
      ...{ timeMicroseconds: 1n, data: '{}', extensions: null, value: null },
    }),
  );
  const whole = Buffer.concat(rows);
  const left = {
    'dead-1.events': whole,
    'dead-2.events': whole.subarray(0, whole.length - 3),
    'other-1.events': rows[0] ?? '',
  };
  for (const [name, bytes] of Object.entries(left)) writeFileSync(join(directory, name), bytes);
  // One that cannot be read holds nobody up.
  mkdirSync(join(directory, 'aaa.events'));
  // One that a running process writes to, whose clock was set.
  const own = createFakeAppender();
  own.state.away = true;
  const running = openSpool(own.appender, directory);
  running.tell('running');
  setClock(directory, 3_600_000);
  const spools = [openSpool(appender, directory), openSpool(appender, directory)];
  for (const { spool } of spools) await spool.job.start();
  for (const { spool, tell } of spools) {
    tell('own');
    await spool.job.settle?.();
  }
  const counted = Object.fromEntries(
    Object.entries(Object.groupBy(taken, (subject) => subject)).map(([subject, all]) => [
      subject,
      all?.length ?? 0,
    ]),
  );
  // Each once, or once for each who found it at the same moment: they are stored once.
  expect(counted['own']).toBe(2);
  expect(counted['a']).toBeWithin(3, 7);
  expect(counted['b']).toBeWithin(1, 3);
  expect(taken).not.toContain('running');
  expect(files(directory).filter((name) => name !== 'aaa.events')).toHaveLength(1);
  for (const { spool } of spools) await spool.job.stop();
  running.tell('running still');
  own.state.away = false;
  await running.spool.job.settle?.();
  await running.spool.job.stop();
  expect(own.taken).toEqual(['running', 'running still']);
  expect(readdirSync(directory)).toEqual(['aaa.events']);
});

test('a disk that takes nothing is told of, so that the event can be kept and recorded later', () => {
  const { appender } = createFakeAppender();
  const file = join(root, 'a-file');
  writeFileSync(file, '');
  const { tell, metrics } = openSpool(appender, join(file, 'below'));
  expect(tell('x')).toBeFalse();
  expect(metrics).toEqual({ recorded: 0, refused: 1, failing: true });
  rmSync(file);
  expect(tell('x')).toBeTrue();
  expect(metrics).toEqual({ recorded: 1, refused: 1, failing: false });
});

test('what a stopped service could not hand on is found at the next start', async () => {
  const { appender, taken, state } = createFakeAppender();
  const first = openSpool(appender);
  await first.spool.job.start();
  state.away = true;
  first.tell('late');
  await first.spool.job.stop();
  state.away = false;
  const second = openSpool(appender, first.directory);
  setClock(first.directory, -3_600_000);
  await second.spool.job.start();
  await eventually('it to be handed on', () => taken.includes('late'));
  await second.spool.job.stop();
});

const disk = mountDisk('1m');
afterAll(() => disk?.remove());
const unmounted = disk === undefined ? ' (no file system can be mounted here)' : '';
test.skipIf(disk === undefined)(
  `half an event, which a full disk left, does not hide those that come when there is room${unmounted}`,
  async () => {
    const { appender, taken } = createFakeAppender();
    const { spool, tell } = openSpool(appender, join(disk?.path ?? '', 'own'));
    const recorded = ['first'];
    // One file is open all the time: nothing is handed on before the job starts.
    expect(tell('first')).toBeTrue();
    disk?.fill();
    let refused = 0;
    for (let index = 0; refused < 5; index++) {
      const subject = `${index} ${'x'.repeat(1 + (index % 7) * 100)}`;
      if (tell(subject)) recorded.push(subject);
      else refused += 1;
    }
    disk?.free();
    expect(tell('last')).toBeTrue();
    recorded.push('last');
    await spool.job.start();
    await spool.job.settle?.();
    expect(taken).toEqual(recorded);
    await spool.job.stop();
  },
);

const missing = missingFaultyDisk();
test.skipIf(missing !== undefined)(
  missing ?? 'what the buffer does not take is flushed, before what it was made of may be forgotten',
  async () => {
    await using disk = await mountFaultyDisk();
    const { appender, taken, state } = createFakeAppender();
    const { spool, tell } = openSpool(appender, join(disk.path, 'own'));
    await spool.job.start();
    state.away = true;
    tell('kept');
    await spool.awaitRecorded();
    tell('kept, too');
    await spool.awaitRecorded();
    const found = await disk.survivor();
    await disk.fail({ calls: ['fsync'], error: 'EIO' });
    tell('not kept');
    await expect(spool.awaitRecorded()).rejects.toThrow('flush');
    await disk.clear();
    await spool.awaitRecorded();

    const later = createFakeAppender();
    // The machine's process is dead.
    for (const name of readdirSync(join(found, 'own')))
      if (name.endsWith('.lock')) rmSync(join(found, 'own', name));
    const next = openSpool(later.appender, join(found, 'own'));
    await next.spool.job.start();
    await next.spool.job.settle?.();
    expect(later.taken.toSorted()).toEqual(['kept', 'kept, too']);
    await next.spool.job.stop();

    state.away = false;
    await spool.job.settle?.();
    expect(taken).toEqual(['kept', 'kept, too', 'not kept']);
    await spool.job.stop();
  },
);
