// One call of one upstream, with its time-outs; every way in which it can end is an answer or an AttemptFailure.

import type { Deadlines } from '../core/deadlines.ts';
import { isTraced, type Span } from '../core/tracing.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import {
  type Answer,
  AttemptFailure,
  isEventStream,
  nonsense,
  readWhole,
  refuseError,
  type StreamAnswer,
  toRefusal,
  toWholeAnswer,
  type WholeAnswer,
} from './answer.ts';
import { noteLatency } from './balance.ts';
import { noteStatus, startAttemptSpan } from './call-span.ts';
import type { ConnectProbe } from './connect-probe.ts';
import { nextSaying, readEventBlocks, startingWith } from './events.ts';
import { FAILED_LATENCY_MS, KEEP_ALIVE_MS, REACHED_LATELY_MS, READER_CHECK_MS } from './limits.ts';
import type { Call } from './model-call.ts';
import type { Target, Upstream } from './targets.ts';
import { createReaderTime, type Phase, TIMED_OUT, toTimedOut } from './time-outs.ts';
import { translateBlocks, translateWhole } from './translate.ts';
import { addressOf, bodyFor, isUnsent, passedHeaders, sendRequest } from './upstream-request.ts';

export type AttemptDeps = { deadlines: Deadlines; connectProbe: ConnectProbe };

/**
 * Waits for a place at the upstream, and asks once. Throws AttemptFailure; 503 for a full queue; the signal's reason when
 * the caller has disconnected.
 */
export async function attempt(
  target: Target,
  upstream: Upstream,
  call: Call,
  deps: AttemptDeps,
): Promise<Answer> {
  // A request that the upstream's protocol cannot express waits for nothing.
  const body = bodyFor(target, call);
  const place = upstream.permits.acquire(call.caller.workspaceId, call.signal);
  if (place !== undefined) await place;
  const run = new Run(target, upstream, call, deps);
  try {
    call.signal.throwIfAborted();
    const response = await run.send(body);
    if (run.noteResponse(response) && call.request.stream && isEventStream(response))
      return await run.beginStream(response);
    const answer = run.toAnswer(response, await run.readWhole(response));
    run.end('ok');
    return answer;
  } catch (error) {
    const explained = run.explain(error);
    if (explained instanceof AttemptFailure) run.noteFailure();
    run.end(explained instanceof AttemptFailure ? (explained.unwell ? 'failed' : 'ok') : 'left');
    throw explained;
  }
}

/** The state of one attempt: its running time-out, the cause of its cancellation, and the resources that it holds. */
class Run {
  private readonly target: Target;
  private readonly upstream: Upstream;
  private readonly call: Call;
  private readonly deps: AttemptDeps;
  private readonly controller = new AbortController();
  private readonly startedAtMs = performance.now();
  private readonly deadline;
  private readonly onAbort = (): void => this.controller.abort(this.call.signal.reason);
  private phase: Phase = 'first_byte';
  private expired: Phase | undefined;
  private unwatch: (() => void) | undefined;
  private streams = false;
  private readerTime: ReturnType<typeof createReaderTime> | undefined;
  private tellExpired: (() => void) | undefined;
  private ended = false;
  private span: Span | undefined;

  constructor(target: Target, upstream: Upstream, call: Call, deps: AttemptDeps) {
    this.target = target;
    this.upstream = upstream;
    this.call = call;
    this.deps = deps;
    this.deadline = deps.deadlines.create(() => this.onDue());
    target.running += 1;
    target.circuit.begin();
    call.signal.addEventListener('abort', this.onAbort, { once: true });
  }

  private onDue(): void {
    const isContended = this.upstream.permits.isContended();
    if (this.phase === 'reader' && this.readerTime?.isOver(performance.now(), isContended) === false)
      this.await('reader', READER_CHECK_MS);
    else this.expire(this.phase);
  }

  private expire(phase: Phase): void {
    this.expired = phase;
    this.controller.abort(new Error(TIMED_OUT[phase]));
    // A client that stops reading would release neither the place nor the reservation.
    if (!this.streams) return;
    this.end(phase === 'total' || phase === 'reader' ? 'left' : 'failed');
    this.tellExpired?.();
  }

  /** The next thing must happen within its time, and everything within the total. */
  private awaitNext(phase: 'first_byte' | 'idle' | 'total'): void {
    const { timeoutsMs } = this.upstream.spec;
    this.await(phase, timeoutsMs[phase] ?? timeoutsMs[this.call.request.stream ? 'idle' : 'total']);
  }

  private await(phase: Phase, withinMs: number): void {
    const leftMs = this.upstream.spec.timeoutsMs.total - (performance.now() - this.startedAtMs);
    this.phase = leftMs < withinMs ? 'total' : phase;
    this.deadline.set(Math.min(leftMs, withinMs));
  }

  /** Asks the upstream, from when on the time-outs run. */
  send(body: string): Promise<Response> {
    const { upstream, call } = this;
    this.awaitNext('first_byte');
    if (this.startedAtMs - upstream.reachedAtMs >= REACHED_LATELY_MS)
      this.unwatch = this.deps.connectProbe.watch(upstream, () => this.expire('connect'));
    const address = addressOf(upstream, call.endpoint, this.target.model);
    if (isTraced()) this.span = startAttemptSpan(this.target, address.url);
    return sendRequest({ address, upstream, call, body, span: this.span }, this.controller.signal);
  }

  /** Records that the upstream has begun to answer; returns whether with a success. */
  noteResponse({ ok, status }: Response): boolean {
    if (this.span !== undefined) noteStatus(this.span, status);
    const nowMs = performance.now();
    this.upstream.reachedAtMs = nowMs;
    this.unwatch?.();
    if (ok) noteLatency(this.target, nowMs - this.startedAtMs, nowMs);
    return ok;
  }

  readWhole(response: Response): Promise<Uint8Array> {
    // Headers may come long before the answer: its own first byte is awaited as theirs was.
    this.awaitNext(response.headers.has('content-length') ? 'idle' : 'first_byte');
    return readWhole(response, () => this.awaitNext('idle'));
  }

  /** The whole answer. */
  toAnswer(response: Response, bytes: Uint8Array): WholeAnswer {
    const { spec, adapter } = this.upstream;
    const { translation } = adapter;
    if (!response.ok) {
      const refusal = toRefusal(response, bytes, { spec, explain: translation?.error });
      if (refusal instanceof AttemptFailure) throw refusal;
      return refusal;
    }
    const { modelId, endpoint } = this.call;
    if (translation === undefined) return toWholeAnswer(response, bytes, { spec, endpoint });
    const translated = translateWhole(translation, bytes, { spec, model: modelId });
    return { ...toWholeAnswer(response, translated.bytes, { spec, endpoint }), usage: translated.usage };
  }

  /** Waits for the first event, so that an upstream that fails before it can be replaced; bounded by the time-out. */
  async beginStream(response: Response): Promise<StreamAnswer> {
    const { blocks, meter } = this.blocks(response);
    this.readerTime = createReaderTime(this.upstream.spec.timeoutsMs.reader);
    const rest = (): void => this.await('reader', this.readerTime?.begin(performance.now()) ?? 0);
    // Comments are no first byte; once the client hears of the wait, they are signs of life.
    const coming = nextSaying(blocks, () => {
      if (this.streams) this.awaitNext('idle');
    });
    const silent = Promise.withResolvers<'silent'>();
    const patience = this.deps.deadlines.create(() => silent.resolve('silent'));
    patience.set(KEEP_ALIVE_MS);
    let first: Uint8Array | undefined | 'silent';
    try {
      first = await Promise.race([coming, silent.promise]);
    } finally {
      patience.drop();
    }
    if (first === undefined) throw nonsense(new Error('an empty stream'));
    if (first !== 'silent') refuseError(first, this.upstream.spec);
    if (first === 'silent') this.awaitNext('total');
    else rest();
    this.streams = true;
    return {
      kind: 'stream',
      headers: passedHeaders(response.headers, this.upstream.spec),
      first: first === 'silent' ? undefined : first,
      blocks: first === 'silent' ? startingWith(coming, blocks) : blocks,
      meter,
      settle: (outcome) => this.end(outcome),
      touch: () => {
        this.readerTime?.end(performance.now());
        this.awaitNext('idle');
      },
      rest,
      expired: () => toTimedOut(this.expired),
      onExpired: (listener) => {
        this.tellExpired = listener;
      },
    };
  }

  private blocks(response: Response): Pick<StreamAnswer, 'blocks' | 'meter'> {
    if (response.body === null) throw nonsense(new Error('an empty stream'));
    const blocks = readEventBlocks(response.body);
    const { translation } = this.upstream.adapter;
    if (translation === undefined) return { blocks };
    const { modelId: model, includeUsage } = this.call;
    const created = Math.floor(Date.now() / 1000);
    const stream = translation.stream({ model, created, includeUsage });
    return { blocks: translateBlocks(blocks, stream), meter: stream.meter };
  }

  /** The failure in our own words. A disconnect of the caller is not a failure of the upstream. */
  explain(error: unknown): unknown {
    const late = toTimedOut(this.expired);
    // A kept connection may have taken the request all the same.
    if (late !== undefined) return new AttemptFailure(late, { next: 'others' });
    if (this.call.signal.aborted || error instanceof AttemptFailure) return error;
    if (error instanceof OpenAiRefusal) return error;
    const sent = !isUnsent(error);
    const sentence = sent ? 'The upstream hung up' : 'The upstream cannot be reached';
    const refusal = new OpenAiRefusal('upstream-failed', sentence, { cause: error });
    return new AttemptFailure(refusal, { next: 'same', sent });
  }

  /** Fast failures must not look like low latency. */
  noteFailure(): void {
    const nowMs = performance.now();
    noteLatency(this.target, Math.max(FAILED_LATENCY_MS, nowMs - this.startedAtMs), nowMs);
  }

  end(outcome: 'ok' | 'failed' | 'left'): void {
    if (this.ended) return;
    this.ended = true;
    this.deadline.drop();
    this.unwatch?.();
    this.call.signal.removeEventListener('abort', this.onAbort);
    this.target.running -= 1;
    const { circuit } = this.target;
    if (outcome === 'ok') circuit.succeed();
    else if (outcome === 'failed') circuit.fail();
    else circuit.forget();
    // If the answer is not read to its end, the upstream should stop sending it.
    if (outcome !== 'ok') this.controller.abort();
    this.upstream.permits.release(this.call.caller.workspaceId);
    if (outcome !== 'ok') this.span?.fail(this.expired === undefined ? outcome : `${this.expired}_timeout`);
    this.span?.end();
  }
}
