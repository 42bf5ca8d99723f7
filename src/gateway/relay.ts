// Forwards the stream of an answer to its client: bytes pass as they came, and the end is reported as it was.

import { isObject, type JsonObject } from '../core/json.ts';
import { OpenAiRefusal, toOpenAiError } from '../http/openai-error.ts';
import type { StreamAnswer } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { DONE, type EventBlock, renderEvent, type StreamEvent, toEvent } from './events.ts';
import type { Ended } from './model-call.ts';
import { isFailedEvent, readEventError, type UpstreamError } from './upstream-error.ts';
import { StreamMeter } from './usage.ts';

export type RelayOptions = {
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
  /** Called with each block of events, before usage is hidden. */
  onBlock(bytes: Uint8Array): void;
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
export function relay(options: RelayOptions): { body: ReadableStream<Uint8Array>; over: Promise<void> } {
  const source = new Relay(options);
  return { body: new ReadableStream<Uint8Array>(source), over: source.over.promise };
}

class Relay implements UnderlyingDefaultSource<Uint8Array> {
  readonly over = Promise.withResolvers<void>();
  private readonly options: RelayOptions;
  private readonly meter: StreamMeter;
  private client!: ReadableStreamDefaultController<Uint8Array>;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private forget = (): void => undefined;
  private firstEventMs: number | undefined;
  private sinceFinish = Number.POSITIVE_INFINITY;
  private readonly finished = new Set<unknown>();
  private ended = false;
  private left = false;

  constructor(options: RelayOptions) {
    this.options = options;
    this.meter = options.answer.meter ?? new StreamMeter();
  }

  start(client: ReadableStreamDefaultController<Uint8Array>): void {
    const { answer, signal, shutdown } = this.options;
    this.client = client;
    if (signal.aborted) {
      this.onAbort();
      return;
    }
    signal.addEventListener('abort', this.onAbort, { once: true });
    const onShutdown = (): void => {
      answer.blocks.cancel();
      void this.sendLast(toEvent(toOpenAiError(shutdown.reason)), 'cancelled');
    };
    shutdown.addEventListener('abort', onShutdown, { once: true });
    this.forget = () => shutdown.removeEventListener('abort', onShutdown);
    // A client that stops reading would release neither the permit nor the reservation.
    answer.timeOuts?.signal.addEventListener('abort', () => this.breakOff(undefined), { once: true });
    if (answer.first === undefined) this.ping();
    else this.forward(answer.first);
  }

  /** Forwards until the client has got something, or the stream has ended. */
  async pull(): Promise<void> {
    const { blocks, timeOuts } = this.options.answer;
    while (!this.ended) {
      timeOuts?.await('idle');
      let block: EventBlock | undefined;
      try {
        block = await blocks.next();
      } catch (error) {
        return this.breakOff(error);
      }
      if (this.ended) return;
      if (block === undefined) return this.finish();
      timeOuts?.awaitReader();
      if (this.forward(block)) return;
    }
  }

  cancel(): void {
    this.left = true;
    if (this.ended) return;
    this.options.answer.blocks.cancel();
    void this.end('cancelled');
  }

  private readonly onAbort = (): void => {
    if (this.ended) return;
    this.cancel();
    // A client in this process still reads.
    this.client.close();
  };

  private ping(): void {
    this.client.enqueue(PING);
    this.awaitPing();
  }

  private awaitPing(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.ping(), this.options.keepAliveMs);
  }

  /** Returns whether the client has got a part of the block. */
  private forward(block: EventBlock): boolean {
    if (block.events.length > 0) this.firstEventMs ??= performance.now() - this.options.startedAtMs;
    const failed = block.events.findIndex((event) => isFailedEvent(event, false));
    const events = failed === -1 ? block.events : block.events.slice(0, failed);
    for (const event of events) this.count(event);
    const shown = this.options.hidesUsage ? events.filter((event) => !isUsageAlone(event)) : events;
    const found = block.events[failed];
    if (found !== undefined) {
      const { error, blames } = readEventError(found, this.options.spec);
      this.options.answer.blocks.cancel();
      void this.sendLast(shown.map(renderEvent).join('') + toEvent({ error }), 'failed', toldError(blames));
      return true;
    }
    this.options.onBlock(block.bytes);
    const isWhole = shown.length === block.events.length;
    const bytes = isWhole ? block.bytes : Buffer.from(shown.map(renderEvent).join(''));
    if (block.events.some(({ data }) => data === '[DONE]')) {
      void this.sendLast(bytes, 'ok');
      void this.drain();
    } else {
      this.awaitPing();
      if (bytes.length > 0) this.client.enqueue(bytes);
    }
    return bytes.length > 0;
  }

  /** Counts what an event says towards the usage and the end. */
  private count({ data, chunk }: StreamEvent): void {
    if (data === '[DONE]') return;
    if (this.options.answer.meter === undefined) this.meter.addChunk(chunk);
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
    const { choices, endsPlainly, onBlock } = this.options;
    const hasFinished = choices === 1 || this.finished.size >= choices;
    if (endsPlainly) void this.sendLast('', 'ok');
    else if (this.sinceFinish < LAST_EVENTS && hasFinished) {
      onBlock(Buffer.from(DONE));
      void this.sendLast(DONE, 'ok');
    } else this.breakOff(undefined);
  }

  private breakOff(cause: unknown): void {
    if (this.ended) return;
    const failure = this.options.answer.timeOuts?.refusal ?? brokeOff(cause);
    const last = toEvent(toOpenAiError(failure));
    // A client that reads too slowly is no failure of the upstream.
    if (failure.kind === 'request-timeout') void this.sendLast(last, 'cancelled');
    else void this.sendLast(last, 'failed', failure);
  }

  /** The usage record is durable before the last byte is sent. */
  private async sendLast(
    last: string | Uint8Array,
    outcome: Ended['outcome'],
    failure?: OpenAiRefusal,
  ): Promise<void> {
    await this.end(outcome, failure);
    if (this.left) return;
    if (last.length > 0) this.client.enqueue(typeof last === 'string' ? Buffer.from(last) : last);
    this.client.close();
  }

  private end(outcome: Ended['outcome'], failure?: OpenAiRefusal): Promise<void> {
    const { answer, signal, onEnd } = this.options;
    this.ended = true;
    clearTimeout(this.silence);
    this.forget();
    signal.removeEventListener('abort', this.onAbort);
    // An error that blames the request says nothing about the upstream's health.
    const isNeutral = outcome === 'cancelled' || failure?.kind === 'malformed';
    answer.end(isNeutral ? 'left' : outcome === 'ok' ? 'ok' : 'failed', failure);
    this.over.resolve();
    return onEnd({
      outcome,
      usage: this.meter.usage,
      tokens: this.meter.tokens,
      firstEventMs: this.firstEventMs,
    });
  }

  /** Reads an upstream whose last event has come to its end, so that its connection can serve again. */
  private async drain(): Promise<void> {
    const { blocks } = this.options.answer;
    const closing = setTimeout(() => blocks.cancel(), CLOSING_MS);
    try {
      while ((await blocks.next()) !== undefined);
    } catch {
      // No client waits for it any more.
    }
    clearTimeout(closing);
  }
}

/** Whether the event tells the usage, and holds nothing else. */
const isUsageAlone = ({ chunk }: StreamEvent): boolean => {
  const { choices, usage } = chunk ?? ({} as JsonObject);
  return Array.isArray(choices) && choices.length === 0 && isObject(usage);
};

const brokeOff = (cause: unknown): OpenAiRefusal =>
  new OpenAiRefusal('upstream-failed', 'The upstream broke off its answer', {
    code: 'upstream_broke_off',
    cause,
  });

const toldError = (blames: UpstreamError['blames']): OpenAiRefusal =>
  blames === 'request'
    ? new OpenAiRefusal('malformed', 'The upstream refused the request within its answer')
    : new OpenAiRefusal('upstream-failed', 'The upstream told an error within its answer');
