// What the service stands on hangs, goes away and comes back, for real; and clients behave as clients do.

import { afterAll, beforeAll, describe } from 'bun:test';
import { missingStore } from '../support/object-stores.ts';
import { describeClients } from './outages/clients.ts';
import { describeDatabaseOutages } from './outages/database.ts';
import { describeEmbeddedPostgres } from './outages/embedded-postgres.ts';
import { describeReadingOutages } from './outages/reading.ts';
import { describeShutdown } from './outages/shutdown.ts';
import { describeStoreOutages } from './outages/store.ts';
import { type Setting, startSetting } from './support/setting.ts';

const missing = missingStore('minio');
describe.skipIf(missing !== undefined)(missing ?? 'outages', () => {
  let running: Setting | undefined;
  const setting = (): Setting => {
    if (running === undefined) throw new Error('the service did not start');
    return running;
  };
  beforeAll(async () => {
    running = await startSetting();
  });
  afterAll(() => running?.[Symbol.asyncDispose]());

  describeStoreOutages(setting);
  describeDatabaseOutages(setting);
  describeReadingOutages(setting);
  describeShutdown(setting);
});

describe('outages within', describeEmbeddedPostgres);

// Not in a group of their own: slow clients begin before all other tests, and are looked at after them.
describeClients();
