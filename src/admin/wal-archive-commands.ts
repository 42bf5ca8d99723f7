// The commands of the archive of the embedded database's log (wal-archive.ts).

export const WAL_ARCHIVE_COMMANDS = {
  'wal-archive show': {
    operation: 'service.show-wal-archive',
    audits: [],
    meaning: 'show from which moments the archive of the write-ahead log can restore the database',
    required: [],
  },
  'wal-archive verify': {
    operation: 'service.verify-wal-archive',
    audits: [],
    meaning: 'read all of the archive; ends with 1 when something is damaged or missing',
    required: [],
  },
  'wal-archive base': {
    operation: 'service.base-backup',
    audits: ['service.base-backup'],
    meaning: 'make a base backup now, which a restore begins with; the service does so by itself, too',
    required: [],
  },
  'wal-archive restore': {
    operation: 'service.restore-to',
    audits: ['service.restore-to'],
    meaning: 'make the embedded database as it was at a moment, in a folder without one',
    required: [],
    optional: ['at', 'cluster'],
  },
} as const;
