// Forwards the stream of an answer to its client: bytes pass as they came, and the end is reported as it was.

import { isObject } from '../core/json.ts';
import { MovableTimer } from '../core/movable-timer.ts';
import { OpenAiRefusal, toOpenAiError } from '../http/openai-error.ts';
import { isFailedEvent, type StreamAnswer, upstreamFailed } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { DONE, type EventBlock, renderEvent, type StreamEvent, toEvent } from './events.ts';
import type { Ended } from './model-call.ts';
import { readEventError } from './upstream-error.ts';
import { StreamMeter } from './usage.ts';

export type StreamOptions = {
  answer: StreamAnswer;
  /** Undefined for a built-in model. */
  spec: UpstreamSpec | undefined;
  /** The gateway requested the usage, not the client, which therefore does not receive it. */
  hidesUsage: boolean;
  /** Streams of this kind end without a mark. */
  endsPlainly: boolean;
  /** The choices that the request asked for. */
  choices: number;
  startedAtMs: number;
  keepAliveMs: number;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  shutdown: AbortSignal;
  /** Called once. The last bytes are sent when it resolves. */
  onEnd(end: Ended): Promise<void>;
  /** Called with the bytes for the client, before they are sent. */
  onBytes?: ((bytes: Uint8Array) => void) | undefined;
};

const PING = Buffer.from(': keep-alive\n\n');
/** After its `[DONE]` an upstream has this long to end. */
const CLOSING_MS = 500;
/** A finish reason among this many events at the end of a stream finishes a choice. */
const LAST_EVENTS = 4;

/**
 * The client's stream, and a promise of its end. While the upstream is silent, comments keep the connection alive. If the
 * upstream fails in the middle, or the service ends, an error event without `[DONE]` follows. A client that disconnects
 * cancels the upstream.
 */
export function toClientStream(options: StreamOptions): {
  body: ReadableStream<Uint8Array>;
  over: Promise<Ended>;
} {
  const source = new ClientStream(options);
  return { body: new ReadableStream<Uint8Array>(source), over: source.over.promise };
}

class ClientStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly over = Promise.withResolvers<Ended>();
  private readonly options: StreamOptions;
  private readonly answer: StreamAnswer;
  private readonly meter: StreamMeter;
  private client!: ReadableStreamDefaultController<Uint8Array>;
  private readonly silence = new MovableTimer(() => this.ping());
  private firstEventMs: number | undefined;
  private sinceFinish = Number.POSITIVE_INFINITY;
  private readonly finished = new Set<unknown>();
  private ended = false;
  private left = false;

  constructor(options: StreamOptions) {
    this.options = options;
    this.answer = options.answer;
    this.meter = options.answer.meter ?? new StreamMeter();
  }

  start(client: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal, shutdown } = this.options;
    const { first, timeOuts } = this.answer;
    this.client = client;
    if (signal.aborted) {
      this.onAbort();
      return;
    }
    signal.addEventListener('abort', this.onAbort, { once: true });
    shutdown.addEventListener('abort', this.onShutdown, { once: true });
    // A client that stops reading would release neither the permit nor the reservation.
    timeOuts?.signal.addEventListener('abort', () => this.breakOff(undefined), { once: true });
    if (first === undefined) this.ping();
    else this.forward(first);
  }

  /** Forwards until the client has got something, or the stream has ended. */
  async pull(): Promise<void> {
    const { blocks, timeOuts } = this.answer;
    while (!this.ended) {
      timeOuts?.await('idle');
      let next: IteratorResult<EventBlock, undefined>;
      try {
        next = await blocks.next();
      } catch (error) {
        return this.breakOff(error);
      }
      if (this.ended) return;
      if (next.done === true) return this.finish();
      timeOuts?.awaitReader();
      if (this.forward(next.value)) return;
    }
  }

  cancel(): void {
    this.left = true;
    if (!this.ended) this.over.resolve(this.end('cancelled').ended);
  }

  private readonly onAbort = (): void => {
    if (this.ended) return;
    this.over.resolve(this.end('cancelled').ended);
    // A client in this process still reads.
    this.client.close();
  };

  private readonly onShutdown = (): void => {
    const { shutdown } = this.options;
    void this.sendLast(toEvent(toOpenAiError(shutdown.reason)), 'cancelled');
  };

  private ping(): void {
    this.client.enqueue(PING);
    this.awaitPing();
  }

  private awaitPing(): void {
    this.silence.moveTo(performance.now() + this.options.keepAliveMs);
  }

  /** Returns whether the client has got a part of the block. */
  private forward(block: EventBlock): boolean {
    const { hidesUsage, spec, startedAtMs } = this.options;
    if (block.events.length > 0) this.firstEventMs ??= performance.now() - startedAtMs;
    let shown = block.events;
    let done = false;
    for (const [at, event] of block.events.entries()) {
      if (isFailedEvent(event, false)) {
        const { error, blames } = readEventError(event, spec);
        const before = shown.filter((each) => block.events.indexOf(each) < at);
        void this.sendLast(
          before.map(renderEvent).join('') + toEvent({ error }),
          'failed',
          toldError(blames),
        );
        return true;
      }
      if (event.data === '[DONE]') done = true;
      else this.count(event);
      if (hidesUsage && isUsageAlone(event)) shown = shown.filter((each) => each !== event);
    }
    const bytes = shown === block.events ? block.bytes : Buffer.from(shown.map(renderEvent).join(''));
    if (done) {
      void this.sendLast(bytes, 'ok');
      void this.drain();
    } else {
      this.awaitPing();
      this.send(bytes);
    }
    return bytes.length > 0;
  }

  private send(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.options.onBytes?.(bytes);
    this.client.enqueue(bytes);
  }

  /** Counts what an event says towards the usage and the end. */
  private count({ chunk }: StreamEvent): void {
    if (this.answer.meter === undefined) this.meter.addChunk(chunk);
    this.sinceFinish += 1;
    const choices = chunk?.['choices'];
    if (!Array.isArray(choices)) return;
    for (const choice of choices) {
      if (!isObject(choice) || typeof choice['finish_reason'] !== 'string') continue;
      this.sinceFinish = 0;
      this.finished.add(choice['index'] ?? 0);
    }
  }

  /** The upstream has ended, without a mark. */
  private finish(): void {
    const { choices, endsPlainly } = this.options;
    const hasFinished = choices === 1 || this.finished.size >= choices;
    if (endsPlainly) void this.sendLast('', 'ok');
    else if (this.sinceFinish < LAST_EVENTS && hasFinished) void this.sendLast(DONE, 'ok');
    else this.breakOff(undefined);
  }

  private breakOff(cause: unknown): void {
    if (this.ended) return;
    if (this.options.signal.aborted) {
      this.onAbort();
      return;
    }
    const failure =
      this.answer.timeOuts?.refusal ??
      upstreamFailed('The upstream broke off its answer', { code: 'upstream_broke_off', cause });
    const last = toEvent(toOpenAiError(failure));
    // A client that reads too slowly is no failure of the upstream.
    if (failure.kind === 'request-timeout') void this.sendLast(last, 'cancelled');
    else void this.sendLast(last, 'failed', failure);
  }

  /** The usage record is durable before the last bytes are sent, and the span of the call, which ends with it, shows them. */
  private async sendLast(
    last: string | Uint8Array,
    outcome: Ended['outcome'],
    failure?: OpenAiRefusal,
  ): Promise<void> {
    const bytes = typeof last === 'string' ? Buffer.from(last) : last;
    this.options.onBytes?.(bytes);
    const { ended, recorded } = this.end(outcome, failure);
    await recorded;
    if (!this.left) {
      if (bytes.length > 0) this.client.enqueue(bytes);
      this.client.close();
    }
    this.over.resolve(ended);
  }

  private end(outcome: Ended['outcome'], failure?: OpenAiRefusal) {
    const { signal, shutdown, onEnd } = this.options;
    this.ended = true;
    this.silence.clear();
    shutdown.removeEventListener('abort', this.onShutdown);
    signal.removeEventListener('abort', this.onAbort);
    // An error that blames the request says nothing about the upstream's health.
    const isNeutral = outcome === 'cancelled' || failure?.kind === 'malformed';
    this.answer.end?.(isNeutral ? 'left' : outcome === 'ok' ? 'ok' : 'failed', failure);
    const { usage, tokens } = this.meter;
    const ended = { outcome, usage, tokens, firstEventMs: this.firstEventMs };
    return { ended, recorded: onEnd(ended) };
  }

  /** Reads an upstream whose last event has come to its end, so that its connection can serve again. */
  private async drain(): Promise<void> {
    const { blocks, timeOuts } = this.answer;
    const closing = setTimeout(() => timeOuts?.cancel(), CLOSING_MS);
    try {
      while ((await blocks.next()).done !== true);
    } catch {
      // No client waits for it any more.
    }
    clearTimeout(closing);
  }
}

/** Whether the event tells the usage, and holds nothing else. */
const isUsageAlone = ({ chunk }: StreamEvent): boolean => {
  const { choices, usage } = chunk ?? {};
  return Array.isArray(choices) && choices.length === 0 && isObject(usage);
};

const toldError = (blames: 'request' | string | undefined): OpenAiRefusal =>
  blames === 'request'
    ? new OpenAiRefusal('malformed', 'The upstream refused the request within its answer')
    : upstreamFailed('The upstream told an error within its answer');
