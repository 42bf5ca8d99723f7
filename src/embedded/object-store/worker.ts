// The thread of the store: opens the directory, listens, and ends on request.
import { toError } from '../../core/errors.ts';
import type { FromStore, StoreOptions } from './index.ts';
import { openObjects } from './objects.ts';
import { createStoreServer } from './server.ts';

declare const self: Worker;

const say = (message: FromStore): void => self.postMessage(message);
const onFault = (error: unknown): void => say({ fault: String(error) });

async function start(options: StoreOptions): Promise<() => Promise<void>> {
  const { directory, bucket, host, port, accessKeyId, secretAccessKey, region, corsOrigins } = options;
  const objects = await openObjects(directory, bucket);
  const credentials = { accessKeyId, secretAccessKey, region };
  const server = createStoreServer({ objects, credentials, corsOrigins, onFault });
  try {
    say({ port: await server.listen(host, port) });
  } catch (error) {
    objects.close();
    throw error;
  }
  return async () => {
    await server.close();
    objects.close();
  };
}

// One request that meets a defect, ours or a parser's, must not end the uploads of all others.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, onFault);

let close: () => Promise<void> = async () => undefined;
self.onmessage = async ({ data }: MessageEvent<StoreOptions | 'close'>) => {
  if (data === 'close') {
    await close().catch(onFault);
    say({ closed: true });
  } else {
    close = await start(data).catch((error: unknown) => {
      say({ refusal: toError(error).message });
      return async () => undefined;
    });
  }
};
