// Reads a backup to its last byte: whether every file is as it was written, and every object of a document is there.

import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Progress } from '../core/progress.ts';
import { checkRows, type RowsFile, readLines } from './files.ts';
import { FAULTS_SHOWN } from './limits.ts';
import {
  lockFolder,
  type Manifest,
  OBJECT_LIST,
  packsFolder,
  requireManifest,
  rowsFolder,
  tableFile,
  workingSetPath,
} from './manifest.ts';
import { isIntact, packPath, readPack } from './packs.ts';
import { openWorkingSet, type WorkingSet } from './working-set.ts';

export type Verification = {
  report: { taken_at: string; tables: number; rows: number; objects: number; bytes: number; faults: number };
  /** The first of them, a sentence each. */
  faults: string[];
};

/** Throws `BackupRefused` for a folder without a backup that this version can read. */
export async function verifyBackup(directory: string, progress: Progress): Promise<Verification> {
  requireManifest(directory);
  const lock = lockFolder(directory);
  const set = openWorkingSet(workingSetPath(directory));
  try {
    return await checkBackup(directory, { manifest: requireManifest(directory), set, progress });
  } finally {
    set.close();
    lock.release();
  }
}

/** Leaves the objects of the backup in the working set. */
export async function checkBackup(
  directory: string,
  parts: { manifest: Manifest; set: WorkingSet; progress: Progress },
): Promise<Verification> {
  const { manifest, set, progress } = parts;
  const found = { faults: [] as string[], count: 0 };
  const fault = (sentence: string): void => {
    found.count += 1;
    if (found.faults.length < FAULTS_SHOWN) found.faults.push(sentence);
  };
  const folder = rowsFolder(directory, manifest);
  const files = [
    ...manifest.tables.map((table) => ({ ...table, file: tableFile(table.name) })),
    { ...manifest.objects, file: OBJECT_LIST },
  ];
  for (const { file, ...expected } of files) {
    progress.step(() => `reading ${file}`);
    await checkFile(join(folder, file), expected).catch((error: Error) => fault(`${file}: ${error.message}`));
  }
  for (const expected of manifest.packs) {
    try {
      const { pack, entries } = readPack(packsFolder(directory), expected.id);
      if (pack.sha256 !== expected.sha256)
        throw new Error(`the index of the pack ${pack.id} does not have its checksum`);
      set.addPack(pack, entries);
    } catch (error) {
      fault((error as Error).message);
    }
  }
  if (found.count === 0) await set.addNeeded(readLines(join(folder, OBJECT_LIST)));
  const checked = await checkObjects(directory, { manifest, set, progress, fault });
  const rows = manifest.tables.reduce((sum, { rows }) => sum + rows, 0);
  const bytes = checked.bytes + files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    report: {
      taken_at: manifest.taken_at,
      tables: manifest.tables.length,
      rows,
      objects: checked.objects,
      bytes,
      faults: found.count,
    },
    faults: found.faults,
  };
}

async function checkFile(path: string, expected: RowsFile): Promise<void> {
  const { rows, bytes, sha256 } = await checkRows(path);
  if (bytes !== expected.bytes || sha256 !== expected.sha256)
    throw new Error('it does not have its checksum');
  if (rows !== expected.rows) throw new Error(`it has ${rows} rows instead of ${expected.rows}`);
}

async function checkObjects(
  directory: string,
  parts: { manifest: Manifest; set: WorkingSet; progress: Progress; fault(sentence: string): void },
): Promise<{ objects: number; bytes: number }> {
  const { manifest, set, progress, fault } = parts;
  const checked = { objects: 0, bytes: 0 };
  const known = new Set(manifest.missing_objects);
  for (const page of set.missing()) {
    for (const key of page) if (!known.has(key)) fault(`no pack holds the object ${key}`);
  }
  const total = set.needed();
  for (const { id } of set.packs()) {
    const pack = await open(packPath(packsFolder(directory), id), 'r');
    try {
      for (const page of set.entriesOf(id)) {
        for (const entry of page) {
          if (!(await isIntact(pack, entry))) fault(`the object ${entry.key} is damaged, in the pack ${id}`);
          checked.objects += 1;
          checked.bytes += entry.size;
          progress.step(() => `objects: ${checked.objects} of ${total} read`);
        }
      }
    } finally {
      await pack.close();
    }
  }
  return checked;
}
