// Reads a backup to its last byte: whether every file is as it was written, and every object of a document is there.

import { messageOf } from '../core/errors.ts';
import type { Progress } from '../core/progress.ts';
import { checkRows, type RowsFile } from './files.ts';
import { type BackupFolder, type Manifest, openFolder, requireManifest } from './folder.ts';
import { eachAtOnce } from './objects.ts';

/** The command prints these faults in words; it counts all. */
const FAULTS_SHOWN = 20;

/** Throws `BackupRefused` for a folder without a backup that this version can read. */
export async function verifyBackup(directory: string, progress: Progress) {
  requireManifest(directory);
  using folder = openFolder(directory);
  return await checkBackup(folder, requireManifest(directory), progress);
}

/** A report, and the first faults, a sentence each. */
export async function checkBackup(folder: BackupFolder, manifest: Manifest, progress: Progress) {
  const { id, tables } = manifest;
  const faults: string[] = [];
  const sum = { rows: 0, objects: 0, bytes: 0 };
  const checkFile = async (path: string, expected: RowsFile): Promise<boolean> => {
    progress.step(() => `reading ${path}`);
    try {
      await checkRows(path, expected);
      sum.bytes += expected.bytes;
      return true;
    } catch (error) {
      faults.push(`${path}: ${messageOf(error)}`);
      return false;
    }
  };
  for (const table of tables) {
    if (await checkFile(folder.table(id, table.name), table)) sum.rows += table.rows;
  }
  if (await checkFile(folder.list(id), manifest.objects)) {
    const missing = new Set(manifest.missing_objects);
    await eachAtOnce(await folder.keys(id), async (key) => {
      if (missing.has(key)) return;
      progress.step(() => `objects: ${sum.objects} of ${manifest.objects.rows} read`);
      try {
        sum.bytes += await folder.objects.check(key);
        sum.objects += 1;
      } catch (error) {
        faults.push(messageOf(error));
      }
    });
  }
  const report = { taken_at: manifest.taken_at, tables: tables.length, ...sum, faults: faults.length };
  return { report, faults: faults.slice(0, FAULTS_SHOWN) };
}
