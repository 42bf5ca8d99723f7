// One call of one upstream, with its time-outs; every way in which it can end is an answer or an AttemptFailure.

import { isTraced, type Span } from '../core/tracing.ts';
import { within } from '../core/wait.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import {
  type Answer,
  AttemptFailure,
  isFailedEvent,
  isFailure,
  nonsense,
  type StreamAnswer,
  upstreamFailed,
  type WholeAnswer,
} from './answer.ts';
import type { AttemptLog, FailedAttempt } from './attempt-log.ts';
import { noteStatus, startAttemptSpan } from './call-span.ts';
import { type EventBlock, readBlocks, startingWith } from './events.ts';
import { ANSWER_BYTES_MAX, FAILED_LATENCY_MS, REACHED_LATELY_MS } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import type { Target, Upstream } from './targets.ts';
import { TimeOuts } from './time-outs.ts';
import { translateBlocks, translateWhole } from './translate.ts';
import { readError, readEventError, refusedFailure, toldFailure } from './upstream-error.ts';
import { addressOf, bodyFor, headersOf, isUnsent, passedHeaders } from './upstream-request.ts';
import { checkAnswer } from './usage.ts';

export type UpstreamDeps = {
  log: AttemptLog;
  /** False where a proxy stands between, and a connection of our own would tell nothing. */
  connectsDirectly: boolean;
  /** After so long a silence a client gets the headers of a stream and a comment. */
  keepAliveMs: number;
};

/**
 * Waits for a permit of the upstream, and asks once. Throws AttemptFailure; 503 for a full queue, and 400 for a request that its
 * protocol cannot express; the signal's reason when the caller has disconnected.
 */
export async function callUpstream(
  made: FailedAttempt & { call: ModelCall },
  upstream: Upstream,
  deps: UpstreamDeps,
): Promise<Answer> {
  const { call, target } = made;
  // A request that the upstream's protocol cannot express waits for nothing.
  const body = bodyFor(upstream, target.model, call);
  await upstream.permits.acquire(call.caller.workspaceId, call.signal);
  const attempt = new UpstreamCall(made, upstream, deps);
  try {
    call.signal.throwIfAborted();
    const response = await attempt.send(body);
    if (response.ok && call.request.stream && isEventStream(response))
      return await attempt.beginStream(response);
    const answer = attempt.toAnswer(response, await attempt.readWhole(response));
    attempt.end('ok');
    return answer;
  } catch (error) {
    throw attempt.fail(error);
  }
}

/** The state of one call, and the resources that it holds. */
class UpstreamCall {
  private readonly made: FailedAttempt & { call: ModelCall };
  private readonly target: Target;
  private readonly upstream: Upstream;
  private readonly call: ModelCall;
  private readonly deps: UpstreamDeps;
  private readonly timeOuts: TimeOuts;
  private reached = false;
  private streams = false;
  private ended = false;
  private span: Span | undefined;

  constructor(made: FailedAttempt & { call: ModelCall }, upstream: Upstream, deps: UpstreamDeps) {
    this.made = made;
    this.target = made.target;
    this.call = made.call;
    this.upstream = upstream;
    this.deps = deps;
    const { permits, spec } = upstream;
    this.timeOuts = new TimeOuts(spec.timeoutsMs, this.call.request.stream, () => permits.isContended());
    this.target.running += 1;
    this.target.circuit.begin();
    this.call.signal.addEventListener('abort', this.cancel, { once: true });
  }

  /** Asks the upstream, from when on the time-outs run. */
  async send(body: string): Promise<Response> {
    const { upstream, call, target } = this;
    const { startedAtMs, signal } = this.timeOuts;
    this.timeOuts.await('first_byte');
    if (this.deps.connectsDirectly && startedAtMs - upstream.reachedAtMs >= REACHED_LATELY_MS)
      void canConnect(upstream).then((connected) => {
        if (!connected && !this.reached && !this.ended) this.timeOuts.expire('connect');
      });
    const { url, headers: own } = addressOf(upstream, call.endpoint, target.model);
    if (isTraced()) this.span = startAttemptSpan(target, url);
    const headers = headersOf(own, upstream, { call, body, span: this.span });
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal });
    if (this.span !== undefined) noteStatus(this.span, response.status);
    const nowMs = performance.now();
    upstream.reachedAtMs = nowMs;
    this.reached = true;
    if (response.ok) target.noteLatency(nowMs - startedAtMs, nowMs);
    return response;
  }

  /** Reads a whole answer. Throws AttemptFailure if it is too large. */
  async readWhole(response: Response): Promise<Uint8Array> {
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    // Headers may come long before the answer: its own first byte is awaited as theirs was.
    this.timeOuts.await(Number.isNaN(length) ? 'first_byte' : 'idle');
    if (length > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
    if (length <= SMALL_BYTES || response.body === null) return response.bytes();
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      this.timeOuts.await('idle');
      size += chunk.length;
      if (size > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Throws AttemptFailure for a status other than 2xx, and for an answer that is no JSON object, or tells of a failure. */
  toAnswer(response: Response, bytes: Uint8Array): WholeAnswer {
    const { spec, adapter } = this.upstream;
    const { translation } = adapter;
    if (!response.ok) throw refusedFailure(response, bytes, { spec, explain: translation?.error });
    const { status, headers } = response;
    const head = { kind: 'whole' as const, status, headers: passedHeaders(headers, spec) };
    if (translation !== undefined)
      return { ...head, ...translateWhole(translation, bytes, { spec, model: this.call.modelId ?? '' }) };
    let checked: ReturnType<typeof checkAnswer>;
    try {
      checked = checkAnswer(bytes);
    } catch (error) {
      throw nonsense(error);
    }
    if (checked.value !== undefined && isFailure(checked.value, this.call.endpoint))
      throw toldFailure(readError(bytes, 502, { spec }));
    return { ...head, bytes, usage: checked.usage };
  }

  /** Waits for the first event, so that an upstream that fails before it can be replaced; a silent one for a while only. */
  async beginStream(response: Response): Promise<StreamAnswer> {
    const { spec, adapter } = this.upstream;
    if (response.body === null) throw nonsense(new Error('an empty stream'));
    let blocks = readBlocks(response.body);
    const translated = adapter.translation?.stream({
      model: this.call.modelId ?? '',
      created: Math.floor(Date.now() / 1000),
      includeUsage: this.call.request.includesUsage,
    });
    if (translated !== undefined) blocks = translateBlocks(blocks, translated);
    const coming = this.firstEvents(blocks);
    const first = await within(coming, this.deps.keepAliveMs, () => 'silent' as const);
    if (first === undefined) throw nonsense(new Error('an empty stream'));
    this.streams = true;
    const headers = passedHeaders(response.headers, spec);
    const answer = {
      kind: 'stream' as const,
      headers,
      meter: translated?.meter,
      timeOuts: this.timeOuts,
      end: (outcome: Outcome, failure?: OpenAiRefusal) => this.end(outcome, failure),
    };
    if (first === 'silent') {
      this.timeOuts.await('total');
      return { ...answer, first: undefined, blocks: startingWith(coming, blocks) };
    }
    const [event] = first.events;
    if (event !== undefined && isFailedEvent(event, true)) throw toldFailure(readEventError(event, spec));
    this.timeOuts.awaitReader();
    return { ...answer, first, blocks };
  }

  /** The first block that says something: upstreams that queue send comments before they know whether they answer. */
  private async firstEvents(blocks: StreamAnswer['blocks']): Promise<EventBlock | undefined> {
    for (;;) {
      const { value, done } = await blocks.next();
      if (done === true || value.events.length > 0) return value;
      // Comments are no first byte; once the client hears of the wait, they are signs of life.
      if (this.streams) this.timeOuts.await('idle');
    }
  }

  private readonly cancel = (): void => this.timeOuts.cancel();

  /** Ends the attempt; returns the failure in our own words. A disconnect of the caller is no failure of the upstream. */
  fail(error: unknown): unknown {
    const failure = this.explain(error);
    if (!(failure instanceof AttemptFailure)) this.end('left');
    else {
      const nowMs = performance.now();
      // Fast failures must not look like low latency.
      this.target.noteLatency(Math.max(FAILED_LATENCY_MS, nowMs - this.timeOuts.startedAtMs), nowMs);
      this.end(failure.unwell ? 'failed' : 'ok');
    }
    return failure;
  }

  private explain(error: unknown): unknown {
    const late = this.timeOuts.refusal;
    // A kept connection may have taken the request all the same.
    if (late !== undefined) return new AttemptFailure(late, { next: 'others' });
    if (this.call.signal.aborted) return this.call.signal.reason;
    if (error instanceof AttemptFailure || error instanceof OpenAiRefusal) return error;
    const sent = !isUnsent(error);
    const sentence = sent ? 'The upstream hung up' : 'The upstream cannot be reached';
    return new AttemptFailure(upstreamFailed(sentence, { cause: error }), { next: 'same', sent });
  }

  /** Releases what the call holds, once. `failure`: why a stream has failed in the middle. */
  end(outcome: Outcome, failure?: OpenAiRefusal): void {
    if (this.ended) return;
    this.ended = true;
    this.timeOuts.end();
    this.call.signal.removeEventListener('abort', this.cancel);
    const { target } = this;
    const { expired } = this.timeOuts;
    target.running -= 1;
    if (outcome === 'ok') target.circuit.succeed();
    // A stream that lasts for too long may wait for its caller.
    else if (outcome === 'failed' && !(this.streams && expired === 'total')) target.circuit.fail();
    else target.circuit.forget();
    // If the answer is not read to its end, the upstream should stop sending it.
    if (outcome !== 'ok') this.cancel();
    this.upstream.permits.release(this.call.caller.workspaceId);
    if (failure !== undefined) this.deps.log.note(this.made, failure);
    if (outcome !== 'ok') this.span?.fail(expired === undefined ? outcome : `${expired}_timeout`);
    this.span?.end();
  }
}

type Outcome = 'ok' | 'failed' | 'left';

/** Answers up to here are read at once. */
const SMALL_BYTES = 65_536;

/** Media types have no case (RFC 9110, 8.3.1). */
const isEventStream = (response: Response): boolean =>
  /^text\/event-stream\s*(?:;|$)/i.test(response.headers.get('content-type') ?? '');

/**
 * Whether a bare connection is made in time: `fetch` has no time-out of its own for that. Concurrent requests share one trial; every
 * other error is reported by the requests themselves.
 */
function canConnect(upstream: Upstream): Promise<boolean> {
  upstream.connecting ??= connect(upstream.spec).finally(() => {
    upstream.connecting = undefined;
  });
  return upstream.connecting;
}

const connect = ({ baseUrl, timeoutsMs }: Upstream['spec']): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port, protocol } = new URL(baseUrl);
    const timer = setTimeout(() => resolve(false), timeoutsMs.connect);
    const succeed = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    Bun.connect({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      socket: {
        data: () => undefined,
        open(socket) {
          succeed();
          socket.end();
        },
        error: succeed,
      },
    }).catch(succeed);
  });
