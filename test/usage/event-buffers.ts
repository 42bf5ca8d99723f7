// The buffers that the contract is held against, each over the real thing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../src/core/logger.ts';
import type { EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { JetStreamBuffer } from '../../src/usage/buffer/jetstream/index.ts';
import { Journal } from '../../src/usage/buffer/journal/index.ts';
import { eventually } from '../support/child.ts';
import { missingNats, type NatsCluster, startNats, startNatsCluster } from '../support/nats-server.ts';

export type BufferSetting = AsyncDisposable & {
  /** Another buffer over the same store, started. */
  open(): Promise<EventBuffer>;
  lines: { fields: object; message: string }[];
};

export type BufferUnderTest = {
  name: string;
  missing: string | undefined;
  /** Appends at once that it certainly answers in time, on a machine that does other work, too. */
  appendsAtOnce: number;
  prepare(bytesMax?: number): Promise<BufferSetting>;
};

const BYTES_MAX = 2 ** 30;

export function collectingLog(): { log: Logger; lines: { fields: object; message: string }[] } {
  const lines: { fields: object; message: string }[] = [];
  const keep = (fields: object, message: string): void => {
    lines.push({ fields, message });
  };
  return { log: { debug: keep, info: keep, warn: keep, error: keep }, lines };
}

/** A start does not wait for long for a server: on a busy machine the buffer is ready a moment later. */
export const untilReady = (buffer: EventBuffer): Promise<boolean> =>
  eventually('the buffer to be ready', () =>
    buffer.metrics().then(
      () => true,
      () => false,
    ),
  );

/** Closes whatever was opened, in reverse. */
function opener(make: () => EventBuffer) {
  const opened: EventBuffer[] = [];
  return {
    async open(): Promise<EventBuffer> {
      const buffer = make();
      opened.push(buffer);
      await buffer.start();
      await untilReady(buffer);
      return buffer;
    },
    async close(): Promise<void> {
      for (const buffer of opened.toReversed()) await buffer.close();
    },
  };
}

/** One cluster for all settings of a file, each with a stream of its own. */
let cluster: Promise<NatsCluster> | undefined;
let streams = 0;

export async function endCluster(): Promise<void> {
  await (await cluster)?.stop();
  cluster = undefined;
}

export const BUFFERS: readonly BufferUnderTest[] = [
  {
    name: 'journal',
    missing: undefined,
    appendsAtOnce: 1000,
    async prepare(bytesMax = BYTES_MAX) {
      const directory = mkdtempSync(join(tmpdir(), 'atrium-journal-'));
      const { log, lines } = collectingLog();
      const { open, close } = opener(() => new Journal({ directory, bytesMax, log }));
      return {
        open,
        lines,
        async [Symbol.asyncDispose]() {
          await close();
          rmSync(directory, { recursive: true, force: true });
        },
      };
    },
  },
  {
    name: 'JetStream',
    missing: missingNats(),
    appendsAtOnce: 1000,
    async prepare(bytesMax = BYTES_MAX) {
      const server = await startNats();
      const { log, lines } = collectingLog();
      const { url, monitorUrl } = server;
      const settings = { url, monitorUrl, creds: undefined, streamPrefix: 'TEST', replicas: 1, bytesMax };
      const { open, close } = opener(
        () => new JetStreamBuffer({ settings, identity: async () => 'test', log }),
      );
      return {
        open,
        lines,
        async [Symbol.asyncDispose]() {
          await close();
          await server.stop();
        },
      };
    },
  },
  {
    name: 'JetStream on three servers',
    missing: missingNats(),
    // Three servers, each of which syncs every message, share the processors with the test.
    appendsAtOnce: 200,
    async prepare(bytesMax = BYTES_MAX) {
      cluster ??= startNatsCluster();
      const { url, servers } = await cluster;
      const { log, lines } = collectingLog();
      const settings = {
        url,
        monitorUrl: servers[0]?.monitorUrl,
        creds: undefined,
        streamPrefix: `TEST_${++streams}`,
        replicas: 3,
        bytesMax,
      };
      const { open, close } = opener(
        () => new JetStreamBuffer({ settings, identity: async () => 'test', log }),
      );
      return { open, lines, [Symbol.asyncDispose]: close };
    },
  },
];
