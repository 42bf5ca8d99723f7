// One call of one upstream, with its time-outs; every way in which it can end is an answer or an AttemptFailure.

import { isTraced, type Span } from '../core/tracing.ts';
import { within } from '../core/wait.ts';
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
import { type EventBlock, type EventBlocks, readBlocks, startingWith } from './events.ts';
import { FAILED_LATENCY_MS, REACHED_LATELY_MS } from './limits.ts';
import type { Call } from './model-call.ts';
import type { Target, Upstream } from './targets.ts';
import { TimeOuts } from './time-outs.ts';
import { translateBlocks, translateWhole } from './translate.ts';
import { addressOf, bodyFor, isUnsent, passedHeaders, sendRequest } from './upstream-request.ts';

export type AttemptDeps = {
  connectProbe: ConnectProbe;
  /** After so long a silence a client gets the headers of a stream and a comment. */
  keepAliveMs: number;
};

/**
 * Waits for a permit of the upstream, and asks once. Throws AttemptFailure; 503 for a full queue; the signal's reason when
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
  await upstream.permits.acquire(call.caller.workspaceId, call.signal);
  const run = new Run(target, upstream, call, deps);
  try {
    call.signal.throwIfAborted();
    const response = await run.send(body);
    if (response.ok && call.request.stream && isEventStream(response)) return await run.beginStream(response);
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

/** The state of one attempt: its time-outs, and the resources that it holds. */
class Run {
  private readonly target: Target;
  private readonly upstream: Upstream;
  private readonly call: Call;
  private readonly deps: AttemptDeps;
  private readonly startedAtMs = performance.now();
  private readonly timeOuts: TimeOuts;
  private unwatch: (() => void) | undefined;
  private streams = false;
  private ended = false;
  private span: Span | undefined;

  constructor(target: Target, upstream: Upstream, call: Call, deps: AttemptDeps) {
    this.target = target;
    this.upstream = upstream;
    this.call = call;
    this.deps = deps;
    this.timeOuts = new TimeOuts({
      timeoutsMs: upstream.spec.timeoutsMs,
      isStream: call.request.stream,
      permits: upstream.permits,
    });
    target.running += 1;
    target.circuit.begin();
  }

  /** Asks the upstream, from when on the time-outs run. */
  async send(body: string): Promise<Response> {
    const { upstream, call, target, timeOuts } = this;
    timeOuts.await('first_byte');
    if (this.startedAtMs - upstream.reachedAtMs >= REACHED_LATELY_MS)
      this.unwatch = this.deps.connectProbe.watch(upstream, () => timeOuts.expire('connect'));
    const address = addressOf(upstream, call.endpoint, target.model);
    if (isTraced()) this.span = startAttemptSpan(target, address.url);
    const signal = AbortSignal.any([call.signal, timeOuts.signal]);
    const response = await sendRequest({ address, upstream, call, body, span: this.span }, signal);
    if (this.span !== undefined) noteStatus(this.span, response.status);
    const nowMs = performance.now();
    upstream.reachedAtMs = nowMs;
    this.unwatch?.();
    if (response.ok) noteLatency(target, nowMs - this.startedAtMs, nowMs);
    return response;
  }

  readWhole(response: Response): Promise<Uint8Array> {
    // Headers may come long before the answer: its own first byte is awaited as theirs was.
    this.timeOuts.await(response.headers.has('content-length') ? 'idle' : 'first_byte');
    return readWhole(response, () => this.timeOuts.await('idle'));
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

  /** Waits for the first event, so that an upstream that fails before it can be replaced; a silent one for a while only. */
  async beginStream(response: Response): Promise<StreamAnswer> {
    const { timeOuts, upstream } = this;
    const { blocks, meter } = this.blocks(response);
    const coming = this.firstEvents(blocks);
    const first = await within(coming, this.deps.keepAliveMs, () => 'silent' as const);
    if (first === undefined) throw nonsense(new Error('an empty stream'));
    this.streams = true;
    const answer = {
      kind: 'stream',
      headers: passedHeaders(response.headers, upstream.spec),
      meter,
      timeOuts,
      end: (outcome) => this.end(outcome),
    } satisfies Partial<StreamAnswer>;
    if (first === 'silent') {
      timeOuts.await('total');
      return { ...answer, first: undefined, blocks: startingWith(coming, blocks) };
    }
    refuseError(first, upstream.spec);
    timeOuts.awaitReader();
    return { ...answer, first, blocks };
  }

  /** The first block that says something: upstreams that queue send comments before they know whether they answer. */
  private async firstEvents(blocks: EventBlocks): Promise<EventBlock | undefined> {
    for (;;) {
      const block = await blocks.next();
      if (block === undefined || block.events.length > 0) return block;
      // Comments are no first byte; once the client hears of the wait, they are signs of life.
      if (this.streams) this.timeOuts.await('idle');
    }
  }

  private blocks(response: Response): Pick<StreamAnswer, 'blocks' | 'meter'> {
    if (response.body === null) throw nonsense(new Error('an empty stream'));
    const blocks = readBlocks(response.body);
    const { translation } = this.upstream.adapter;
    if (translation === undefined) return { blocks };
    const { modelId: model, includeUsage } = this.call;
    const created = Math.floor(Date.now() / 1000);
    const stream = translation.stream({ model, created, includeUsage });
    return { blocks: translateBlocks(blocks, stream), meter: stream.meter };
  }

  /** The failure in our own words. A disconnect of the caller is not a failure of the upstream. */
  explain(error: unknown): unknown {
    const late = this.timeOuts.refusal;
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

  /** Releases what the attempt holds, once. */
  end(outcome: 'ok' | 'failed' | 'left'): void {
    if (this.ended) return;
    this.ended = true;
    const { timeOuts, target } = this;
    this.unwatch?.();
    target.running -= 1;
    if (outcome === 'ok') target.circuit.succeed();
    // A stream that lasts for too long may wait for its caller.
    else if (outcome === 'failed' && !(this.streams && timeOuts.expired === 'total')) target.circuit.fail();
    else target.circuit.forget();
    // If the answer is not read to its end, the upstream should stop sending it.
    timeOuts.end(outcome !== 'ok');
    this.upstream.permits.release(this.call.caller.workspaceId);
    if (outcome !== 'ok')
      this.span?.fail(timeOuts.expired === undefined ? outcome : `${timeOuts.expired}_timeout`);
    this.span?.end();
  }
}
