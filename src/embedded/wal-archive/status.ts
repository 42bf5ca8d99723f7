// The archiver reports its status in a file, because the processes that answer requests are often not the one that archives.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../core/json.ts';

export type WalArchiveStatus = {
  /** When it was written. */
  at: string;
  /** Segments that wait, and for how long the first of them has. */
  waiting_segments: number;
  waiting_bytes: number;
  lag_seconds: number;
  archived: number;
  failed: number;
  /** Segments that were given up, because more waited than may. */
  given_up: number;
  /** No base backup has followed yet. */
  gap: boolean;
  last_archived: string | null;
  last_archived_at: string | null;
  base_backup_at: string | null;
  /** The reasons why segments are not archived now, why no base backup could be made, and why expired objects are not removed. */
  failure: string | null;
  base_backup_failure: string | null;
  retention_failure: string | null;
  /** The timeline of a restored copy of this database that has archived here since this service began. */
  other_timeline: number | null;
};

const pathIn = (directory: string): string => join(directory, 'wal-archive.json');

/** Not flushed: after a loss of power it is written anew. */
export function writeStatus(directory: string, status: WalArchiveStatus): void {
  const path = pathIn(directory);
  writeFileSync(`${path}.new`, JSON.stringify(status), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Undefined where nothing was archived yet. */
export function readStatus(directory: string): WalArchiveStatus | undefined {
  try {
    return parseJson(readFileSync(pathIn(directory), 'utf8')) as WalArchiveStatus;
  } catch {
    return undefined;
  }
}
