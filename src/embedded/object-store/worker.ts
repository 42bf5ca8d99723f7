// The thread of the store: opens the directory, listens, and ends on request.
import { messageOf } from '../../core/errors.ts';
import type { FromStore, StoreOptions } from './index.ts';
import { openObjects } from './objects.ts';
import { createStoreServer } from './server.ts';

declare const self: Worker;

const say = (message: FromStore): void => self.postMessage(message);
const onFault = (error: unknown): void => say({ fault: String(error) });

// One request that meets a defect, ours or a parser's, must not end the uploads of all others.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, onFault);

let close = async (): Promise<void> => undefined;

async function start({ directory, bucket, host, port, corsOrigins, ...credentials }: StoreOptions) {
  const objects = await openObjects(directory, bucket);
  const server = createStoreServer({ objects, credentials, corsOrigins, onFault });
  close = async () => {
    await server.close();
    objects.close();
  };
  say({ port: await server.listen(host, port) });
}

self.onmessage = async ({ data }: MessageEvent<StoreOptions | 'close'>) => {
  if (data !== 'close') return await start(data).catch((error) => say({ refusal: messageOf(error) }));
  await close().catch(onFault);
  say({ closed: true });
};
