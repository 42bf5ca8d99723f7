// A process that takes a backup and kills itself amid it: after so many objects were read, or before one of its steps.

import { takeBackup } from '../../src/backup/take.ts';
import { createProgress } from '../../src/core/progress.ts';
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
  store: {
    ...transfer,
    get: (...given) => {
      read += 1;
      return `${read}` === at ? die() : transfer.get(...given);
    },
  },
  embedded: false,
  awaitEvents: async () => (at === 'events' ? die() : 0),
  progress: createProgress(() => undefined),
});
