// Forwards one stream from the upstream to the client: bytes pass unchanged, and its end is reported truthfully.

import type { Deadline, Deadlines } from '../core/deadlines.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import { OpenAiRefusal, toOpenAiError } from '../http/openai-error.ts';
import type { StreamAnswer } from './answer.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { endsWithDone, finishedChoices } from './event-marks.ts';
import { DONE, type EventSink, type EventStream, hasDone, hasFinishReason, toEvent } from './events.ts';
import { KEEP_ALIVE_MS } from './limits.ts';
import type { Ended } from './model-call.ts';
import { StreamMeter } from './stream-meter.ts';
import { findError, type UpstreamError } from './upstream-error.ts';
import { readUsageBlock } from './usage.ts';

type StreamOutcome = 'ok' | 'failed' | 'cancelled';

export type PumpOptions = {
  answer: StreamAnswer;
  /** Of the upstream; undefined for a built-in model. */
  spec: UpstreamSpec | undefined;
  deadlines: Deadlines;
  /** The gateway requested the usage, not the client, which therefore does not receive it. */
  hidesUsage: boolean;
  /** Streams of this kind end without a mark. */
  endsPlainly: boolean;
  /** The choices that the request asked for; absent: one. */
  choices?: number;
  startedAtMs: number;
  signal: AbortSignal;
  onInterrupt: OnInterrupt;
  /** Called once, before the last byte is sent. */
  onEnd(end: Ended): void;
  /** Called with the statistics of the forwarded events, including the usage. */
  onBlock?: ((block: Uint8Array) => void) | undefined;
};

const PING = Buffer.from(': keep-alive\n\n');
const NOTHING = new Uint8Array();
const DONE_BLOCK = Buffer.from(DONE);
/** Of `prompt_tokens`, `input_tokens` and such. */
const USAGE_NAME = Buffer.from('_tokens"');
/** After its `[DONE]` an upstream has this long to end. */
const CLOSING_MS = 500;
/** Blocks at the end of a stream among which a finish reason is looked for. */
const LAST_BLOCKS = 4;

/** A translated stream has its own meter. */
const IGNORING = { addBlock: () => undefined, tell: () => undefined };

const has = (block: Uint8Array, needle: Uint8Array): boolean =>
  Buffer.prototype.indexOf.call(block, needle) !== -1;

/**
 * The client's stream. While the upstream is silent, comments keep the connection alive. If the upstream fails in the
 * middle, or the service ends, an error event without `[DONE]` follows. A client that disconnects cancels the upstream.
 */
export const pumpStream =
  (options: PumpOptions): EventStream =>
  (sink) =>
    new Pump(options, sink);

class Pump {
  private readonly options: PumpOptions;
  private readonly answer: StreamAnswer;
  private readonly sink: EventSink;
  private readonly silence: Deadline;
  private readonly forget: () => void;
  /** Blocks since the last one with a `[DONE]`, and with a finish reason: blocks themselves are not kept, which would age them for the collector. */
  private sinceDone = Number.POSITIVE_INFINITY;
  private sinceFinish = Number.POSITIVE_INFINITY;
  private readonly finished = new Set<unknown>();
  private readonly meter: StreamMeter;
  private firstEventMs: number | undefined;
  private ended = false;

  constructor(options: PumpOptions, sink: EventSink) {
    const { answer, deadlines, signal, onInterrupt } = options;
    this.options = options;
    this.answer = answer;
    this.meter = answer.meter ?? new StreamMeter();
    this.sink = sink;
    this.silence = deadlines.create(() => this.ping());
    this.forget = onInterrupt((reason) => {
      answer.blocks.cancel();
      this.sendLast(toErrorEvent(toOpenAiError(reason).error), 'cancelled');
    });
    if (signal.aborted) {
      this.onAbort();
      return;
    }
    signal.addEventListener('abort', this.onAbort, { once: true });
    answer.onExpired?.(() => {
      if (!this.ended) this.finish(answer.expired());
    });
    if (answer.first === undefined) this.ping();
    else this.send(answer.first);
  }

  /** Forwards until the client has got something, or the stream has ended. */
  readonly pull = (): Promise<void> | undefined => {
    if (this.ended) return undefined;
    this.answer.touch();
    return this.answer.blocks.next().then(this.forward, this.breakOff);
  };

  /** It may have been cancelled meanwhile. */
  private readonly forward = (block: Uint8Array | undefined): Promise<void> | undefined => {
    if (this.ended) return undefined;
    if (block === undefined) {
      this.finish(undefined);
      return undefined;
    }
    this.answer.rest();
    return this.send(block) ? undefined : this.pull();
  };

  private readonly breakOff = (error: unknown): void => {
    if (!this.ended) this.finish(error);
  };

  readonly cancel = (): void => {
    if (this.ended) return;
    this.answer.blocks.cancel();
    this.end('cancelled');
  };

  /** A client that still reads is not kept waiting. */
  private readonly onAbort = (): void => {
    this.cancel();
    this.sink.close();
  };

  private ping(): void {
    this.sink.send(PING);
    this.silence.set(KEEP_ALIVE_MS);
  }

  private end(outcome: StreamOutcome, failure?: OpenAiRefusal): void {
    if (this.ended) return;
    this.ended = true;
    this.silence.drop();
    this.forget();
    this.options.signal.removeEventListener('abort', this.onAbort);
    // An error that blames the request says nothing about the upstream's health.
    const isNeutral = outcome === 'cancelled' || failure?.kind === 'malformed';
    this.answer.settle(isNeutral ? 'left' : outcome, failure);
    const { meter, firstEventMs } = this;
    this.options.onEnd({ outcome, usage: meter.usage, tokens: meter.tokens, firstEventMs });
  }

  /** Records the forwarded events; returns the client's part of them, and the outcome if it is the last. */
  private inspect(block: Uint8Array): {
    shown: Uint8Array;
    outcome: StreamOutcome | undefined;
    failure?: OpenAiRefusal;
  } {
    const { startedAtMs, hidesUsage, spec, choices = 1 } = this.options;
    this.firstEventMs ??= performance.now() - startedAtMs;
    this.sinceDone = hasDone(block) ? 0 : this.sinceDone + 1;
    this.sinceFinish = hasFinishReason(block) ? 0 : this.sinceFinish + 1;
    if (this.sinceFinish === 0 && choices > 1)
      for (const index of finishedChoices(block)) this.finished.add(index);
    let shown = block;
    if (has(block, USAGE_NAME))
      shown = readUsageBlock(block, this.answer.meter ? IGNORING : this.meter, hidesUsage);
    else if (this.answer.meter === undefined) this.meter.addBlock(block);
    const found = findError(shown, spec);
    if (found !== undefined) {
      const { error, before, blames } = found;
      return { shown: toErrorEvent(error, before), outcome: 'failed', failure: toldError(blames) };
    }
    return { shown, outcome: endsWithDone(block) ? 'ok' : undefined };
  }

  /** Whether the client has got a part of the block. */
  private send(block: Uint8Array): boolean {
    const { shown, outcome, failure } = this.inspect(block);
    if (outcome !== 'failed') this.options.onBlock?.(block);
    if (outcome === undefined) {
      this.silence.set(KEEP_ALIVE_MS);
      if (shown.length > 0) this.sink.send(shown);
    } else {
      this.sendLast(shown, outcome, failure);
      if (outcome === 'failed') this.answer.blocks.cancel();
      else void this.drain();
    }
    return shown.length > 0;
  }

  /** The account is written before the last byte is sent. */
  private sendLast(block: Uint8Array, outcome: StreamOutcome, failure?: OpenAiRefusal): void {
    this.end(outcome, failure);
    if (block.length > 0) this.sink.send(block);
    this.sink.close();
  }

  /** An upstream whose last event has come is read to its end, so that its connection can serve again. */
  private async drain(): Promise<void> {
    const { blocks } = this.answer;
    const closing = this.options.deadlines.create(() => blocks.cancel());
    closing.set(CLOSING_MS);
    try {
      while ((await blocks.next()) !== undefined);
    } catch {
      // No client waits for it any more.
    }
    closing.drop();
  }

  private hasFinished(): boolean {
    const { choices = 1 } = this.options;
    return this.sinceFinish < LAST_BLOCKS && (choices === 1 || this.finished.size >= choices);
  }

  /** The upstream has ended without saying so. */
  private finish(cause: unknown): void {
    const isOver = (cause === undefined && this.options.endsPlainly) || this.sinceDone < LAST_BLOCKS;
    if (isOver) this.sendLast(NOTHING, 'ok');
    else if (cause === undefined && this.hasFinished()) {
      this.options.onBlock?.(DONE_BLOCK);
      this.sendLast(DONE_BLOCK, 'ok');
    } else {
      const failure = this.answer.expired() ?? brokeOff(cause);
      const last = toErrorEvent(toOpenAiError(failure).error);
      // A caller that reads too slowly is no failure of the upstream.
      if (failure.kind === 'request-timeout') this.sendLast(last, 'cancelled');
      else this.sendLast(last, 'failed', failure);
    }
  }
}

const brokeOff = (cause: unknown) =>
  new OpenAiRefusal('upstream-failed', 'The upstream broke off its answer', {
    code: 'upstream_broke_off',
    cause,
  });

const toldError = (blames: UpstreamError['blames']): OpenAiRefusal =>
  blames === 'request'
    ? new OpenAiRefusal('malformed', 'The upstream refused the request within its answer')
    : new OpenAiRefusal('upstream-failed', 'The upstream told an error within its answer');

const toErrorEvent = (error: object, before = ''): Uint8Array => Buffer.from(before + toEvent({ error }));
