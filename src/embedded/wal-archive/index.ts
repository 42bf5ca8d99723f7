// Point-in-time recovery of the embedded Postgres: its write-ahead log and base backups in a bucket of the store
// (docs/operating/backup.md).

export { type Archiver, startArchiver } from './archiver.ts';
export { readArchives } from './archives.ts';
export { takeBase } from './base.ts';
export { restoreTo } from './restore.ts';
export { archivingServer } from './settings.ts';
export { readStatus, type WalArchiveStatus } from './status.ts';
export { type ArchiveStore, openArchiveStore } from './store.ts';
export { examine } from './verify.ts';
