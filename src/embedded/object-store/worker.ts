// The thread of the store: opens the directory, listens, and ends on request.
import { createStoreServer, type StoreServer } from './server.ts';
import { openStore } from './store.ts';
import type { StoreMessage, ThreadMessage } from './thread-messages.ts';

declare const self: {
  postMessage(message: StoreMessage): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<ThreadMessage>) => void): void;
};

/** One request that trips over a defect, ours or a parser's, must not end the uploads of all others. */
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => self.postMessage({ type: 'fault', reason: describe(error) }));
}

let close: (() => Promise<void>) | undefined;

self.addEventListener('message', ({ data }) => {
  const work = data.type === 'start' ? start(data) : end();
  work.catch((error: unknown) => self.postMessage({ type: 'failed', reason: describe(error) }));
});

async function start({ options }: Extract<ThreadMessage, { type: 'start' }>): Promise<void> {
  const { accessKeyId, secretAccessKey, region, corsOrigins } = options;
  const onFault = (error: unknown) => self.postMessage({ type: 'fault', reason: describe(error) });
  const retentionMs = options.retentionSeconds * 1000;
  const { objects, recovery } = await openStore(options.directory, { retentionMs, onFault });
  const { unexplained, returned } = recovery;
  if (unexplained + returned > 0) {
    const sentence = `of the files, ${unexplained} without a name were set aside, and ${returned} that have one came back`;
    self.postMessage({ type: 'notice', sentence });
  }
  const server: StoreServer = createStoreServer({
    objects,
    credentials: { accessKeyId, secretAccessKey, region },
    corsOrigins,
    onFault,
  });
  try {
    const port = await server.listen(options.host, options.port);
    close = async () => {
      await server.close();
      await objects.close();
    };
    self.postMessage({ type: 'listening', port });
  } catch (error) {
    await objects.close();
    throw error;
  }
}

async function end(): Promise<void> {
  await close?.();
  self.postMessage({ type: 'closed' });
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
