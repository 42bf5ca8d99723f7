// The manifest of a backup: its only file that is ever replaced. It names all others with their checksums, and goes last, so
// that a backup that was cut off leaves the one before as it was.

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, replaceFile } from '../core/durable.ts';
import { type FileLock, lockFile } from '../core/file-lock.ts';
import { parseJson } from '../core/json.ts';
import type { Sequence } from '../infra/postgres/tables.ts';
import type { RowsFile } from './files.ts';
import type { Pack } from './packs.ts';

const FORMAT = 'atrium-backup';
/** Raised where an earlier version would misread a newer backup. */
const FORMAT_VERSION = 1;

export type AppliedMigration = { id: number; name: string; checksum: string };

export type Manifest = {
  /** Of this backup; the folder of its rows is named after it. */
  id: string;
  /** The moment of the database that the backup holds. */
  taken_at: string;
  /** Versions of the service and of the server that were backed up. */
  atrium: string;
  postgres: string;
  /** The identity of the database. */
  database: string;
  /** Of the schema, in their order. */
  migrations: AppliedMigration[];
  /** In the order in which they are loaded. */
  tables: (RowsFile & { name: string; columns: string[] })[];
  sequences: Sequence[];
  /** The list of the keys of documents' objects. */
  objects: RowsFile;
  packs: Pack[];
  /** Objects of documents that the store did not have. */
  missing_objects: string[];
  /** Packs of usage events that were accepted before the moment and are not in the database of the backup; null: not known. */
  events_waiting: number | null;
};

/** A folder that holds no backup, or not one that this version can read; the message is one line. */
export class BackupRefused extends Error {}

export const packsFolder = (directory: string): string => join(directory, 'packs');
export const rowsFolder = (directory: string, { id }: Pick<Manifest, 'id'>): string =>
  join(directory, `rows-${id}`);
export const tableFile = (name: string): string => `${name}.copy.zst`;
export const OBJECT_LIST = 'objects.list.zst';
export const workingSetPath = (directory: string): string => join(directory, 'working-set.sqlite');
const manifestPath = (directory: string): string => join(directory, 'manifest.json');

const checksumOf = (manifest: unknown): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(manifest)).digest('hex');

/** The backup of the folder is this one from now on. */
export function writeManifest(directory: string, manifest: Manifest): void {
  const document = {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    sha256: checksumOf(manifest),
    ...manifest,
  };
  replaceFile(manifestPath(directory), `${JSON.stringify(document, null, 1)}\n`);
}

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
  const { format, format_version: version, sha256, ...manifest } = document ?? {};
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

/**
 * Locks the folder, which is made (0700) where it is absent. Throws `BackupRefused` for one that another process uses, and for
 * one with other files.
 */
export function lockFolder(directory: string): FileLock {
  if (existsSync(directory) && !statSync(directory).isDirectory())
    throw new BackupRefused(`${directory} is not a folder`);
  makeFolder(directory);
  const others = readdirSync(directory).filter((name) => !isOurs(name));
  if (others.length > 0)
    throw new BackupRefused(`${directory} holds other files, such as ${others[0]}: name a folder of its own`);
  chmodSync(directory, 0o700);
  const lock = lockFile(join(directory, 'lock'), { create: true });
  if (lock === undefined) throw new BackupRefused(`another process is using ${directory}`);
  chmodSync(join(directory, 'lock'), 0o600);
  makeFolder(packsFolder(directory));
  return lock;
}

const isOurs = (name: string): boolean =>
  /^(?:manifest\.json(?:\.new)?|lock|packs|rows-[0-9a-f-]{36}|working-set\.sqlite)$/.test(name);

/** The rows of other backups: earlier ones, and interrupted ones. */
export function removeOtherRows(directory: string, kept: Pick<Manifest, 'id'> | undefined): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith('rows-') && name !== `rows-${kept?.id}`)
      rmSync(join(directory, name), { recursive: true });
  }
}
