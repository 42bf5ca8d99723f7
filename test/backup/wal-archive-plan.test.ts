// Which base backup and which log a restore takes, and which a retention removes; and the form of a base backup.

import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Archive,
  type BaseManifest,
  baseBefore,
  chainOf,
  isComplete,
  newestSegment,
  timelineAt,
} from '../../src/embedded/wal-archive/archives.ts';
import {
  parseHistory,
  parsePosition,
  parseSegment,
  segmentAt,
  segmentName,
} from '../../src/embedded/wal-archive/names.ts';
import { expired } from '../../src/embedded/wal-archive/retention.ts';
import { TAR_END, tarContent, tarHeader, unpackTar } from '../../src/embedded/wal-archive/tar.ts';
import { freshFolder } from '../support/folders.ts';

const day = (number: number): string => `2026-01-0${number}T00:00:00.000Z`;
const at = (segment: number, offset: string): string => `0/${segment.toString(16).toUpperCase()}${offset}`;
const baseOf = (timeline: number, segment: number, stopped_at: string): BaseManifest => ({
  format: 'atrium-base-backup',
  format_version: 1,
  id: stopped_at,
  postgres: '18.4',
  timeline,
  start: at(segment, '000028'),
  stop: at(segment, '000120'),
  started_at: stopped_at,
  stopped_at,
  files: 1,
  bytes: 1,
  parts: 1,
  part_bytes: 1,
});
const names = (timeline: number, ...numbers: number[]): string[] =>
  numbers.map((number) => segmentName({ timeline, number }));
const archiveOf = (bases: BaseManifest[], logs: string[], timelines: Archive['timelines'] = []): Archive => ({
  id: '7',
  bases,
  bytes: 0,
  timelines,
  logs: new Map(logs.map((name) => [name, new Date(0)])),
});

test('names of segments count across files of 4 GiB', () => {
  expect(segmentName({ timeline: 1, number: 255 })).toBe('0000000100000000000000FF');
  expect(segmentName({ timeline: 26, number: 256 })).toBe('0000001A0000000100000000');
  expect(parseSegment('0000001A0000000100000000')).toEqual({ timeline: 26, number: 256 });
  expect(parseSegment('000000010000000000000001.partial')).toBeUndefined();
  expect(segmentAt(parsePosition('1/0'))).toBe(256);
  expect(segmentAt(parsePosition('1/0') - 1n)).toBe(255);
});

test('the log is followed to the first gap, and from a timeline to the one that left it', () => {
  const first = baseOf(1, 3, day(1));
  const straight = archiveOf([first], names(1, 3, 4, 6));
  const way = { timeline: 1, ancestors: [] };
  expect(chainOf(straight, first, way).map(({ number }) => number)).toEqual([3, 4]);
  expect(isComplete(first, chainOf(straight, first, way))).toBe(true);
  expect(isComplete(first, chainOf(archiveOf([first], []), first, way))).toBe(false);
  expect(newestSegment(straight, 1)).toBe(6);
  const left = { timeline: 2, ancestors: parseHistory(`1\t${at(5, '000100')}\tbefore 2026\n`) };
  const branched = archiveOf([first], [...names(1, 3, 4, 5, 6), ...names(2, 5, 6)]);
  expect(chainOf(branched, first, left).map(segmentName)).toEqual([...names(1, 3, 4), ...names(2, 5, 6)]);
});

test('a moment belongs to the timeline on which the service was then, and needs a base backup before it', () => {
  const bases = [baseOf(1, 3, day(1)), baseOf(1, 9, day(3)), baseOf(2, 6, day(5))];
  const archive = archiveOf(bases, [], [{ timeline: 2, began_at: day(4) }]);
  expect(timelineAt(archive, new Date(day(3)))).toBe(1);
  expect(timelineAt(archive, new Date(day(4)))).toBe(2);
  expect(timelineAt(archive, undefined)).toBe(2);
  const second = { timeline: 2, ancestors: parseHistory(`1\t${at(5, '000100')}\tbefore\n`) };
  // The second one of the first timeline is behind the place where that was left.
  expect(baseBefore(archive, second, new Date(day(4)))?.stopped_at).toBe(day(1));
  expect(baseBefore(archive, second, undefined)?.stopped_at).toBe(day(5));
  expect(baseBefore(archive, { timeline: 1, ancestors: [] }, new Date(day(4)))?.stopped_at).toBe(day(3));
  expect(baseBefore(archive, second, new Date('2025-12-31'))).toBeUndefined();
});

test('a folder of an earlier timeline that is taken up again continues there', () => {
  const marks = [
    { timeline: 3, began_at: day(2) },
    { timeline: 2, began_at: day(3) },
    { timeline: 1, began_at: day(4) },
  ];
  const archive = archiveOf([], [], marks);
  expect([1, 2, 3, 4].map((each) => timelineAt(archive, new Date(day(each))))).toEqual([1, 3, 2, 1]);
  expect(timelineAt(archive, undefined)).toBe(1);
});

/** The timelines of an archive; the second one left the first in segment 5. */
const secondWay = { timeline: 2, ancestors: parseHistory(`1\t${at(5, '000200')}\tbefore\n`) };
const ways = new Map([
  [1, { timeline: 1, ancestors: [] }],
  [2, secondWay],
]);

test('a retention keeps the newest base backup before its days, and the log from there on', () => {
  const archive = archiveOf(
    [baseOf(1, 3, day(1)), baseOf(1, 5, day(2)), baseOf(1, 7, day(4))],
    [...names(1, 2, 3, 4, 5, 6, 7), '00000002.history', `${names(1, 3)[0]}.00000028.backup`],
  );
  const old = expired(archive, new Date(day(3)), ways);
  expect(old.bases.map(({ stopped_at }) => stopped_at)).toEqual([day(1)]);
  expect(old.logs).toEqual([...names(1, 2, 3, 4), `${names(1, 3)[0]}.00000028.backup`]);
  expect(expired(archive, new Date('2025-12-31'), ways)).toEqual({ bases: [], logs: [] });
});

test('a retention keeps what each timeline of its days begins with', () => {
  // On day 5 the service was restored to a moment of day 2. It has no base backup of its own yet, or an old copy goes on beside it.
  const bases = [baseOf(1, 3, day(1)), baseOf(1, 5, day(2)), baseOf(1, 7, day(3)), baseOf(1, 9, day(6))];
  const archive = archiveOf(bases, names(1, 3, 4, 5, 6, 7, 8), [{ timeline: 2, began_at: day(5) }]);
  const old = (before: number): string[] =>
    expired(archive, new Date(day(before)), ways).bases.map(({ stopped_at }) => stopped_at);
  expect(old(4)).toEqual([day(1)]);
  expect(old(7)).toEqual([day(1), day(3), day(6)]);
  expect(expired(archive, new Date(day(7)), ways).logs).toEqual(names(1, 3, 4));
  for (const moment of [5, 6, 7])
    expect(baseBefore(archive, secondWay, new Date(day(moment)))?.stopped_at).toBe(day(2));
});

test('a base backup is an archive of tar, whatever Postgres does to its files meanwhile', async () => {
  const [from, to, other] = [freshFolder(), freshFolder(), freshFolder()];
  writeFileSync(join(from, 'whole'), 'x'.repeat(1500));
  writeFileSync(join(from, 'shortened'), 'ab');
  const entries = [
    { path: 'base', size: 0, folder: true },
    { path: 'base/whole', size: 1500, folder: false },
    { path: 'base/empty', size: 0, folder: false },
    { path: 'base/shortened', size: 4, folder: false },
    { path: 'base/removed', size: 3, folder: false },
  ];
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(tarHeader(entry));
    const path = join(from, entry.path.slice('base/'.length));
    if (!entry.folder) for await (const part of tarContent(path, entry.size)) parts.push(part);
  }
  const whole = Buffer.concat([...parts, TAR_END]);
  const cut = async function* (bytes: Uint8Array, length: number) {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
  };
  const expectAll = (folder: string): void => {
    const read = (name: string): string => readFileSync(join(folder, 'base', name), 'latin1');
    expect(read('whole')).toBe('x'.repeat(1500));
    expect([read('empty'), read('shortened'), read('removed')]).toEqual(['', 'ab\0\0', '\0\0\0']);
    expect(statSync(join(folder, 'base/whole')).mode & 0o777).toBe(0o600);
  };
  await unpackTar(cut(whole, 700), to);
  expectAll(to);
  writeFileSync(join(from, 'all.tar'), whole);
  expect(Bun.spawnSync(['tar', '-xf', join(from, 'all.tar'), '-C', other]).exitCode).toBe(0);
  expectAll(other);

  expect(unpackTar(cut(whole.subarray(0, 3000), 512), freshFolder())).rejects.toThrow('cut off');
  const hostile = Buffer.concat([tarHeader({ path: '../out', size: 0, folder: false }), TAR_END]);
  mkdirSync(join(other, 'inner'));
  expect(unpackTar(cut(hostile, 512), join(other, 'inner'))).rejects.toThrow('damaged');
});
