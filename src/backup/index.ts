// Backups: all rows of the database and all objects of its documents, in a folder, in a format of its own
// (docs/operating/backup.md).

export { openGate } from './gate.ts';
export { moveService } from './move.ts';
export { restoreBackup } from './restore.ts';
export { takeBackup } from './take.ts';
export { verifyBackup } from './verify.ts';
