// The folder of a backup. Its manifest is the only file that is ever replaced: it names the files of rows with their checksums and
// is written last, so that a backup that was cut off leaves the one before as it was.

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, replaceFile } from '../core/durable.ts';
import { lockFile } from '../core/file-lock.ts';
import { parseJson } from '../core/json.ts';
import type { Sequence } from '../infra/postgres/tables.ts';
import { type RowsFile, readLines, readRows } from './files.ts';
import { openObjectFolder } from './objects.ts';

const FORMAT = 'atrium-backup';
/** Raised where an earlier version would misread a newer backup. */
const FORMAT_VERSION = 1;

export type Manifest = {
  /** The folder of the rows is named after it. */
  id: string;
  /** The moment of the database that the backup holds. */
  taken_at: string;
  /** Versions of the service and of the server that were backed up. */
  atrium: string;
  postgres: string;
  /** The identity of the database. */
  database: string;
  /** The migrations of the schema, in their order. */
  migrations: { id: number; name: string; checksum: string }[];
  /** In the order in which they are loaded. */
  tables: (RowsFile & { name: string; columns: string[] })[];
  sequences: Sequence[];
  /** The list of the keys of documents' objects. */
  objects: RowsFile;
  /** Objects of documents that the store did not have. */
  missing_objects: string[];
  /** Batches of usage events that were accepted before the moment and are not in the backup; null: not known. */
  events_waiting: number | null;
};

/** The folder holds no backup, or none that this version can read, or cannot be used; the message is one line. */
export class BackupRefused extends Error {}

export type BackupFolder = ReturnType<typeof openFolder>;

const OUR_FILES = /^(?:manifest\.json(?:\.new)?|lock|objects|rows-[0-9a-f-]{36})$/;

/** Locks the folder, which is made (0700) if it is absent. Refuses one that another process uses, and one with other files. */
export function openFolder(directory: string) {
  makeFolder(directory);
  const other = readdirSync(directory).find((name) => !OUR_FILES.test(name));
  if (other !== undefined)
    throw new BackupRefused(`${directory} holds other files, such as ${other}: name a folder of its own`);
  chmodSync(directory, 0o700);
  const lock = lockFile(join(directory, 'lock'), { create: true });
  if (lock === undefined) throw new BackupRefused(`another process is using ${directory}`);
  chmodSync(join(directory, 'lock'), 0o600);
  const rows = (id: string): string => join(directory, `rows-${id}`);
  const list = (id: string): string => join(rows(id), 'objects.list.zst');

  return {
    objects: openObjectFolder(join(directory, 'objects')),
    rows,
    table: (id: string, name: string): string => join(rows(id), `${name}.copy.zst`),
    list,
    /** The keys of the objects that documents have. */
    keys: (id: string): Promise<string[]> => readLines(readRows(list(id))),
    /** Removes the rows of earlier and of interrupted backups. */
    removeOtherRows(kept: string | undefined): void {
      for (const name of readdirSync(directory)) {
        if (name.startsWith('rows-') && name !== `rows-${kept}`)
          rmSync(join(directory, name), { recursive: true });
      }
    },
    /** Makes this the backup of the folder. */
    writeManifest(manifest: Manifest): void {
      const head = { format: FORMAT, format_version: FORMAT_VERSION, sha256: checksumOf(manifest) };
      replaceFile(manifestPath(directory), `${JSON.stringify({ ...head, ...manifest }, null, 1)}\n`);
    },
    [Symbol.dispose]: (): void => lock.release(),
  };
}

const manifestPath = (directory: string): string => join(directory, 'manifest.json');
const checksumOf = (manifest: unknown): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(manifest)).digest('hex');

/** Undefined for a folder without a backup. Throws `BackupRefused`. */
export function readManifest(directory: string): Manifest | undefined {
  const path = manifestPath(directory);
  if (!existsSync(path)) return undefined;
  let document: Record<string, unknown>;
  try {
    document = parseJson(readFileSync(path, 'utf8')) as Record<string, unknown>;
  } catch (cause) {
    throw new BackupRefused(`${path} is damaged: it is no JSON`, { cause });
  }
  const { format, format_version: version, sha256, ...manifest } = document;
  if (format !== FORMAT) throw new BackupRefused(`${path} is not the manifest of a backup of Atrium`);
  if (typeof version !== 'number' || version > FORMAT_VERSION)
    throw new BackupRefused(
      `${path} has the format ${version}, and this version reads up to ${FORMAT_VERSION}: use the newer version`,
    );
  if (checksumOf(manifest) !== sha256)
    throw new BackupRefused(`${path} is damaged: its content does not have its checksum`);
  return manifest as Manifest;
}

/** As `readManifest`; throws for a folder without a backup, too. */
export function requireManifest(directory: string): Manifest {
  const manifest = readManifest(directory);
  if (manifest === undefined) throw new BackupRefused(`${directory} holds no backup`);
  return manifest;
}
