// A data folder that cannot be written ends the start with a sentence that says which folder, why, and what to do; and what
// is in the folder stays as it is.

import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAIN, refusalOf } from '../support/service.ts';
import { mountDisk } from '../support/small-disk.ts';

const NOBODY = 65_534;

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-first-start-'));
  folders.push(folder);
  return folder;
};

const namesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' });

const disk = mountDisk('1m');
describe.skipIf(disk === undefined)(
  disk === undefined ? 'no file system can be mounted here' : 'a disk of its own',
  () => {
    const small = disk as NonNullable<typeof disk>;
    const remount = (how: 'ro' | 'rw') => Bun.spawnSync(['mount', '-o', `remount,${how}`, small.path]);
    afterEach(() => {
      remount('rw');
      small.free();
    });

    test.each(['data', 'new'])('that is full (%s)', async (name) => {
      const dataDir = join(small.path, name);
      mkdirSync(join(small.path, 'data'), { recursive: true });
      small.fill();
      expect(await refusalOf({ dataDir })).toBe(
        `atrium: DATA_DIR: ${dataDir} cannot be written: its disk is full. Free some room on it, or set DATA_DIR to another folder`,
      );
      expect(namesIn(small.path).filter((each) => each.startsWith('data/'))).toEqual([]);
    });

    test.each(['data', 'new'])('that is read-only (%s)', async (name) => {
      const dataDir = join(small.path, name);
      mkdirSync(join(small.path, 'data'), { recursive: true });
      remount('ro');
      expect(await refusalOf({ dataDir })).toBe(
        `atrium: DATA_DIR: ${dataDir} cannot be written: its file system is read-only. Mount it for writing, or set DATA_DIR to another folder`,
      );
    });

    test('the last', () => small.remove());
  },
);

/** As root, another user that may read everything, as this program lies where that user could not. */
const asNobody =
  process.geteuid?.() === 0 && Bun.which('setpriv') !== null
    ? [
        'setpriv',
        '--clear-groups',
        `--reuid=${NOBODY}`,
        `--regid=${NOBODY}`,
        '--securebits=+no_setuid_fixup',
        '--inh-caps=-all,+dac_read_search',
        '--ambient-caps=-all,+dac_read_search',
        '--bounding-set=-all,+dac_read_search',
        process.execPath,
        MAIN,
      ]
    : undefined;

describe.skipIf(asNobody === undefined)(
  asNobody === undefined ? 'it takes root to start as another user' : "another user's folder",
  () => {
    test('is refused with both users, and left as it is', async () => {
      const dataDir = newFolder();
      expect(await refusalOf({ dataDir, command: asNobody ?? [] })).toBe(
        `atrium: DATA_DIR: ${dataDir} cannot be written: ${dataDir} belongs to user 0, and this is user ${NOBODY}. Give ${dataDir} to user ${NOBODY} (chown -R), or set DATA_DIR to another folder`,
      );
      expect(namesIn(dataDir)).toEqual([]);
    });

    test('within the own one is refused by its name', async () => {
      const dataDir = newFolder();
      chownSync(dataDir, NOBODY, NOBODY);
      const events = join(dataDir, 'events');
      mkdirSync(events, { mode: 0o700 });
      expect(await refusalOf({ dataDir, command: asNobody ?? [] })).toContain(
        `${events} cannot be written: ${events} belongs to user 0, and this is user ${NOBODY}. Give ${events} to user`,
      );
      expect(namesIn(dataDir)).toEqual(['events']);
    });

    test('that the own one would be made in is named', async () => {
      const parent = newFolder();
      chmodSync(parent, 0o755);
      expect(await refusalOf({ dataDir: join(parent, 'data'), command: asNobody ?? [] })).toContain(
        `${join(parent, 'data')} cannot be written: ${parent} belongs to user 0, and this is`,
      );
    });
  },
);

test('a file in the place of the folder is refused', async () => {
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');
  expect(await refusalOf({ dataDir: file })).toMatch(
    /^atrium: DATA_DIR: .*\/file cannot be written: .*file already exists/,
  );
});
