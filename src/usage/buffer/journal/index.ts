// The embedded buffer: a journal in the data folder, for one machine. Its file is on a thread, because an fsync takes long.

import { messageOf, unavailable } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { createThread, ThreadOverdue } from '../../../core/thread.ts';
import { parseTraceContext, type TraceHeaders } from '../../../core/trace-context.ts';
import { sleep } from '../../../core/wait.ts';
import {
  APPEND_TIMEOUT_MS,
  type BufferMetrics,
  type Delivery,
  type Durability,
  EventBuffer,
  type FetchLimits,
} from '../event-buffer.ts';
import { JOURNAL_FULL } from './journal-file.ts';
import type { JournalCalls, JournalSettings } from './thread.ts';

const TIMEOUT_MS = 5000;
/** Less than a check of /readyz has. */
const METRICS_TIMEOUT_MS = 2000;
const OPEN_TIMEOUT_MS = 10_000;
/** The interval of checking for appends of other processes. */
const POLL_MS = 100;

/** A dead thread is replaced by the next call; an overdue thread gets no events until it has answered. */
export class Journal extends EventBuffer {
  readonly description = { system: 'atrium', destination: 'journal' };
  private readonly thread: ReturnType<typeof createThread<JournalCalls, string>>;
  private readonly directory: string;
  /** Of the journal that the thread has open. */
  private id: string | undefined;
  private latest: BufferMetrics;
  private position = 0;
  /** Resolves at the next append. */
  private appended = Promise.withResolvers<void>();

  constructor({ directory, bytesMax, log }: JournalSettings & { log: Logger }) {
    super();
    this.directory = directory;
    this.latest = { packs: 0, bytes: 0, bytesMax };
    this.thread = createThread<JournalCalls, string>({
      entry: new URL('./thread.ts', import.meta.url),
      settings: { directory, bytesMax } satisfies JournalSettings,
      openMsMax: OPEN_TIMEOUT_MS,
      onEnd: () => {
        this.id = undefined;
        log.error({}, 'the thread of the event journal has ended by itself; it is started again');
      },
    });
  }

  private async ask<Name extends keyof JournalCalls & string>(
    name: Name,
    ...given: [...Parameters<JournalCalls[Name]>, timeoutMs: number]
  ): Promise<ReturnType<JournalCalls[Name]>> {
    try {
      this.id ??= await this.thread.open();
      return await this.thread.ask(name, ...given);
    } catch (error) {
      throw error instanceof Error && 'code' in error && error.code === JOURNAL_FULL ? full() : away(error);
    }
  }

  async start(): Promise<void> {
    this.id = await this.thread.open().catch((error: unknown) => {
      const reason = messageOf(error);
      throw new Error(`The event journal in ${this.directory} cannot be opened: ${reason}`, { cause: error });
    });
  }

  async append(pack: Uint8Array, trace?: TraceHeaders): Promise<void> {
    await this.ask('append', { pack, traceparent: trace?.traceparent }, APPEND_TIMEOUT_MS);
    this.appended.resolve();
  }

  async fetch({ bytesMax, packsMax, waitMs, signal }: FetchLimits): Promise<Delivery[]> {
    const until = performance.now() + waitMs;
    for (;;) {
      this.appended = Promise.withResolvers();
      const entries = await this.ask('read', { after: this.position, bytesMax, packsMax }, TIMEOUT_MS);
      this.position = entries.at(-1)?.seq ?? this.position;
      if (entries.length > 0 || performance.now() >= until || signal?.aborted)
        return entries.map(({ seq, pack, traceparent }) => ({
          pack,
          receipt: seq,
          trace: parseTraceContext(traceparent, undefined),
        }));
      await Promise.race([this.appended.promise, sleep(POLL_MS, signal)]);
    }
  }

  async acknowledge(deliveries: readonly Delivery[]): Promise<void> {
    await this.ask('remove', deliveries.map(seqOf), TIMEOUT_MS);
  }

  async release(deliveries: readonly Delivery[]): Promise<void> {
    // Some behind it may be delivered twice: nothing is stored twice.
    this.position = Math.min(this.position, ...deliveries.map((delivery) => seqOf(delivery) - 1));
  }

  async metrics(): Promise<BufferMetrics> {
    try {
      const found = await this.thread.ask('metrics', METRICS_TIMEOUT_MS);
      this.latest = { ...found, bytesMax: this.latest.bytesMax };
    } catch (error) {
      if (!(error instanceof ThreadOverdue)) throw away(error);
      return { ...this.latest, fault: 'hangs' };
    }
    return this.latest;
  }

  durability(): Durability {
    return { synced: true };
  }

  /** Other journals, of other machines, have sinks of their own. */
  sinkLock(): string | undefined {
    return this.id === undefined ? undefined : `usage.sink ${this.id}`;
  }

  async close(): Promise<void> {
    if (this.id !== undefined) await this.thread.ask('close', TIMEOUT_MS).catch(() => undefined);
    this.thread.end();
  }
}

const seqOf = (delivery: Delivery): number => delivery.receipt as number;

const away = (cause?: unknown) => unavailable('Usage ingestion is temporarily unavailable', { cause });
const full = () => unavailable('Usage ingestion is temporarily unavailable: the buffer is full');
