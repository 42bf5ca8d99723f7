// Area A without its filter, as one suite that runs unchanged over every object store that is installed.

import { afterAll, beforeAll, describe } from 'bun:test';
import { missingStore, STORES, type StoreUnderTest, startStore } from '../support/object-stores.ts';
import { describeArchive } from './documents/archive.ts';
import { describeBin } from './documents/bin.ts';
import { describeConfirm } from './documents/confirm.ts';
import { describeConfirmedMetadata } from './documents/confirmed-metadata.ts';
import { describeContentTypes } from './documents/content-types.ts';
import { describeDownloads } from './documents/downloads.ts';
import { describeFolders } from './documents/folders.ts';
import { describeNames } from './documents/names.ts';
import { describePatch } from './documents/patch.ts';
import { describePurge } from './documents/purge.ts';
import { describeUploads } from './documents/uploads.ts';
import { UPLOAD_BYTES_MAX } from './support/limits.ts';
import { type Setting, startSetting } from './support/setting.ts';

for (const name of STORES) {
  const missing = missingStore(name);
  describe.skipIf(missing !== undefined)(missing ?? `documents over ${name}`, () => {
    let store: StoreUnderTest | undefined;
    let running: Setting | undefined;
    const setting = (): Setting => {
      if (running === undefined) throw new Error('the service did not start');
      return running;
    };
    const environment = () => store?.environment ?? {};

    beforeAll(async () => {
      store = await startStore(name);
      running = await startSetting({ UPLOAD_BYTES_MAX: String(UPLOAD_BYTES_MAX), ...store.environment });
    });
    afterAll(async () => {
      await running?.service[Symbol.asyncDispose]();
      await store?.stop();
    });

    describeUploads(setting, environment);
    describeConfirm(setting, environment);
    describeConfirmedMetadata(setting);
    describeDownloads(setting);
    describeContentTypes(setting);
    describeNames(setting);
    describePatch(setting);
    describeBin(setting);
    describePurge(setting);
    describeArchive(setting);
    describeFolders(setting);
  });
}
