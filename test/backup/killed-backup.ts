// A process that takes a backup and kills itself amid it: after so many objects were read, or before one of its steps.

import { takeBackup } from '../../src/backup/index.ts';
import { createProgress } from '../../src/core/progress.ts';
import { BACKUP_LOCK, OBJECT_KEYS, REBUILT_TABLES, readIdentity } from '../../src/documents/index.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { createTransfer } from '../../src/infra/s3/transfer.ts';
import { connectTo } from '../support/database.ts';

const [folder = '', url = '', endpoint = '', bucket = '', at = ''] = process.argv.slice(2);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('it goes on');
};
const sql = connectTo(url);
const objects = createObjectStore({
  endpoint,
  publicEndpoint: endpoint,
  region: 'us-east-1',
  bucket,
  formProfile: 'standard',
  accessKeyId: 'backup',
  secretAccessKey: 'backup-secret',
});
const transfer = createTransfer(objects);
let read = 0;
await takeBackup(folder, {
  sql,
  lock: BACKUP_LOCK,
  objectKeys: OBJECT_KEYS,
  rebuilt: REBUILT_TABLES,
  version: '1.2.3',
  progress: createProgress(() => undefined),
  identity: () => readIdentity(sql),
  awaitEvents: async () => (at === 'events' ? die() : 0),
  objects: {
    get: (...given) => {
      read += 1;
      return `${read}` === at ? die() : transfer.get(...given);
    },
  },
});
