// A bucket that is lost while the service runs is made anew, so that uploads work again without a restart.

import { expect, test } from 'bun:test';
import { DeleteBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { createBucketJob } from '../../src/infra/s3/bucket.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { missingStore, startRealStore } from '../support/object-stores.ts';

const reason = missingStore('versitygw');

test.skipIf(reason !== undefined)(
  `a store that comes back without its bucket gets one, and the operator is told${reason === undefined ? '' : ` (${reason})`}`,
  async () => {
    const store = await startRealStore('versitygw');
    const { S3_ENDPOINT = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = store.environment;
    const credentials = { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY };
    const objects = createObjectStore({
      endpoint: S3_ENDPOINT,
      publicEndpoint: S3_ENDPOINT,
      region: 'us-east-1',
      bucket: 'atrium-lost',
      ...credentials,
      formProfile: 'standard',
    });
    const complaints: string[] = [];
    const error = (_fields: object, message: string): void => void complaints.push(message);
    const job = createBucketJob(objects, { ...silentLog, error }, { lookEveryMs: 50 });
    const stranger = new S3Client({
      endpoint: S3_ENDPOINT,
      region: 'us-east-1',
      credentials,
      forcePathStyle: true,
    });
    try {
      await job.start();
      await objects.check();
      expect(complaints).toEqual([]);
      await stranger.send(new DeleteBucketCommand({ Bucket: 'atrium-lost' }));
      await eventually('the bucket to be there again', () => complaints.length > 0);
      await objects.putEmpty('acme/a.txt');
      expect(complaints).toEqual([expect.stringContaining('made anew')]);
    } finally {
      stranger.destroy();
      await job.stop();
      objects.close();
      await store.stop();
    }
  },
);
