// The thread of the store: opens the directory, listens, and ends on request.
import { serveThread } from '../../core/thread.ts';
import { createStoreServer } from './server.ts';
import { openStore } from './store.ts';
import type { GivenObject, ObjectStoreOptions, StoreCalls, StoreNotice } from './thread-messages.ts';

serveThread<ObjectStoreOptions, StoreCalls, number>(
  async (options, notify: (notice: StoreNotice) => void) => {
    const onFault = (error: unknown) => notify({ type: 'fault', reason: String(error) });
    // One request that trips over a defect, ours or a parser's, must not end the uploads of all others.
    for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, onFault);
    const { accessKeyId, secretAccessKey, region, corsOrigins } = options;
    const retentionMs = options.retentionSeconds * 1000;
    const { objects, recovery } = await openStore(options.directory, { retentionMs, onFault });
    const { unexplained, returned } = recovery;
    if (unexplained + returned > 0) {
      const sentence = `of the files, ${unexplained} without a name were set aside, and ${returned} that have one came back`;
      notify({ type: 'notice', sentence });
    }
    const server = createStoreServer({
      objects,
      credentials: { accessKeyId, secretAccessKey, region },
      corsOrigins,
      onFault,
    });
    const close = async (): Promise<void> => {
      await server.close();
      await objects.close();
    };
    try {
      if (!objects.hasBucket(options.bucket)) await objects.createBucket(options.bucket);
      const keep = (given: readonly GivenObject[]): Promise<void> => objects.keep(options.bucket, given);
      return { opened: await server.listen(options.host, options.port), calls: { close, keep } };
    } catch (error) {
      await objects.close();
      throw error;
    }
  },
);
