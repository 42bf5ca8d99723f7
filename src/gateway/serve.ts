// A model call, over HTTP or from another area: cache → limits → attempts → answer → account.

import { isObject } from '../core/json.ts';
import { isLimited } from '../core/principal.ts';
import { currentTrace, errorTypeOf, inTrace, isTraced } from '../core/tracing.ts';
import type { Histogram } from '../http/metrics.ts';
import { OpenAiRefusal, withHeaders } from '../http/openai-error.ts';
import type { UsageRecords } from './accounting/usage-records.ts';
import { type Allowances, NOTHING_USED } from './allowances.ts';
import type { WholeAnswer } from './answer.ts';
import type { Attempt, Attempts, Execution } from './attempts.ts';
import type { AnswerCache } from './cache.ts';
import { type CallSpan, startCallSpan } from './call-span.ts';
import type { CatalogueKeeper } from './catalogue/current.ts';
import { streamOf, toChunks } from './chunks.ts';
import { partSizeOf, serveParts } from './embedding-parts.ts';
import type { Ended, ModelCall, Served } from './model-call.ts';
import { estimateUse, requirePrice, toCost } from './price.ts';
import { isText, parseAnswer } from './request.ts';
import { toClientStream } from './stream.ts';
import { type Model, TARGET_HEADER, UNLISTED } from './targets.ts';
import { estimateCompletion, estimatePrompt, MEDIUM_TOKENS, NO_USAGE, type Usage } from './usage.ts';

export type ServeDeps = {
  catalogue: CatalogueKeeper;
  allowances: Allowances;
  cache: AnswerCache;
  attempts: Attempts;
  records: UsageRecords;
  /** Of the seconds to the first event of a stream, by target. */
  firstToken: Histogram;
  /** How often a silent stream gets a comment. */
  keepAliveMs: number;
  shutdown: AbortSignal;
};

/** The one way to a model, for every wire that comes in. */
export class ModelService {
  private readonly deps: ServeDeps;

  constructor(deps: ServeDeps) {
    this.deps = deps;
  }

  /** Throws OpenAiRefusal if the model cannot answer; the reason of the signal if the caller has disconnected. */
  async serve(call: ModelCall): Promise<Served> {
    const { catalogue, records, cache, allowances } = this.deps;
    const model = catalogue.find(await catalogue.current(), call);
    call.modelId = model.id;
    requirePrice(model, call.caller);
    if (call.endpoint === 'embeddings') {
      const size = partSizeOf(call, model);
      if (size !== undefined)
        return serveParts((part) => this.serve(part), call, {
          size,
          reservation: await reserveFor(call, model, allowances),
        });
    } else call.request.checkCounts();
    if (call.continues !== true) records.requireRoom();
    const callSpan = isTraced() ? startCallSpan(call, model.id) : undefined;
    const serving = new Serving(call, model, callSpan, this.deps);
    const answer = (): Promise<Served> =>
      model.cacheTtlSeconds === 0 ? serving.fresh() : cache.serve(call, model, serving);
    return callSpan === undefined ? answer() : inTrace(callSpan.span, answer);
  }
}

/** For the most that the request may use. Throws 429. */
const reserveFor = (call: ModelCall, model: Model, allowances: Allowances) =>
  allowances.reserve(call.caller, (recentCompletionTokens) =>
    estimateUse(call, { models: model.candidates, recentCompletionTokens }),
  );

/** One call: its reservation, its attempts and its usage record. */
class Serving implements Execution {
  readonly model: Model;
  last: Attempt | undefined;
  /** What a whole answer has used. */
  usage: Usage | undefined;
  private readonly startedAtMs = performance.now();
  private readonly call: ModelCall;
  private reservation: ModelCall['reservation'];
  private readonly callSpan: CallSpan | undefined;
  private readonly deps: ServeDeps;

  constructor(call: ModelCall, model: Model, callSpan: CallSpan | undefined, deps: ServeDeps) {
    this.call = call;
    this.model = model;
    this.callSpan = callSpan;
    this.deps = deps;
  }

  /** Counts a request whose answer is cached; returns the headers of the key's limits. Throws 429. */
  async fromCache(usage: Usage): Promise<Record<string, string>> {
    const { call, deps } = this;
    await this.reserve(() => deps.allowances.reserve(call.caller, () => NOTHING_USED));
    await this.account({ outcome: 'cached', usage }, this.model);
    return this.reservation?.headers() ?? {};
  }

  /** `onBytes` is called with what the caller of a stream is sent. */
  async fresh(onBytes?: (bytes: Uint8Array) => void): Promise<Served> {
    const { call, model, callSpan, deps } = this;
    const { request, endpoint } = call;
    await this.reserve(() => reserveFor(call, model, deps.allowances));
    const answer = await this.attempt();
    if (answer.kind === 'whole') {
      callSpan?.addAnswer(answer.bytes);
      this.usage = answer.usage;
      await this.account(this.toEnded(answer));
    }
    const headers = Object.assign(answer.headers, this.reservation?.headers(), this.targetHeader());
    if (answer.kind === 'stream') {
      const stream = toClientStream({
        answer,
        keepAliveMs: deps.keepAliveMs,
        shutdown: deps.shutdown,
        signal: call.signal,
        spec: this.last?.target.upstream?.spec,
        startedAtMs: this.startedAtMs,
        hidesUsage: !request.includesUsage,
        endsPlainly: endpoint === 'images',
        choices: request.countChoices(endpoint),
        onEnd: (ended) => this.account(ended),
        onBytes(bytes) {
          onBytes?.(bytes);
          callSpan?.addAnswer(bytes);
        },
      });
      return { kind: 'stream', headers, ...stream };
    }
    // A stream was requested, and an upstream that does not stream has sent a whole answer.
    if (answer.status === 200 && request.stream && isText(endpoint)) {
      const bytes = await toChunks(answer.bytes, request.includesUsage);
      onBytes?.(bytes);
      return { kind: 'stream', headers, ...streamOf(bytes, { outcome: 'ok', usage: answer.usage }) };
    }
    return answer;
  }

  private async attempt() {
    const { call, model, deps } = this;
    try {
      const answer = await deps.attempts.run(call, this);
      return model.unlisted === undefined ? answer : await this.noteUnlisted(model.unlisted, answer);
    } catch (error) {
      const isMalformed = error instanceof OpenAiRefusal && error.kind === 'malformed';
      if (call.signal.aborted) void this.account({ outcome: 'cancelled', usage: undefined }, model);
      else void this.account({ outcome: isMalformed ? 'refused' : 'failed', usage: NO_USAGE }, model);
      throw error instanceof OpenAiRefusal ? withHeaders(error, this.targetHeader()) : error;
    }
  }

  /** A part of a request shares the reservation of the whole; a key without limits has none. A call that is refused has no account. */
  private async reserve(make: () => Promise<ModelCall['reservation']>): Promise<void> {
    const { caller, reservation } = this.call;
    this.reservation = reservation;
    if (reservation !== undefined || !isLimited(caller.limits)) return;
    try {
      this.reservation = await make();
    } catch (error) {
      const span = this.callSpan?.span;
      span?.fail(errorTypeOf(error));
      span?.end();
      throw error;
    }
  }

  /** Notes that the upstream knows a name that is not listed; where it does not, its refusal names the models that are listed. */
  private async noteUnlisted<A extends WholeAnswer | { kind: 'stream' }>(
    unlisted: NonNullable<Model['unlisted']>,
    answer: A,
  ): Promise<A> {
    if (answer.kind !== 'whole' || answer.status < 400) unlisted.answered = true;
    if (answer.kind !== 'whole' || answer.status !== 404) return answer;
    const { error } = await parseAnswer(answer.bytes);
    if (!isObject(error)) return answer;
    const { models } = await this.deps.catalogue.current();
    const message = `${error['message']}. The models that are listed: ${models.map(({ id }) => id).join(', ')}`;
    return { ...answer, bytes: Buffer.from(JSON.stringify({ error: { ...error, message } })) };
  }

  private targetHeader(): Record<string, string> {
    return this.last === undefined ? {} : { [TARGET_HEADER]: this.last.target.headerName };
  }

  private toEnded({ status, usage, bytes }: WholeAnswer): Ended {
    if (status >= 400) return { outcome: status >= 500 ? 'failed' : 'refused', usage: NO_USAGE };
    // Pictures and vectors are no tokens.
    const isEstimated = usage === undefined && isText(this.call.endpoint);
    return { outcome: 'ok', usage, tokens: isEstimated ? estimateCompletion(bytes) : 0 };
  }

  /** The actual use takes the place of the reservation. Resolves when the usage record is durable. */
  private account(ended: Ended, model = this.last?.model ?? this.model): Promise<void> {
    const { outcome, usage: told, tokens = 0, firstEventMs } = ended;
    const { caller, endpoint, continues, request, requestId, trace } = this.call;
    const { deps } = this;
    const target = this.last?.target;
    const usage = told ?? {
      promptTokens: estimatePrompt(request),
      // Nothing is known of pictures but how many were asked for, as the reservation had it.
      completionTokens: endpoint === 'images' ? request.countChoices(endpoint) * MEDIUM_TOKENS : tokens,
      estimated: true,
    };
    // A fallback without a price costs what was asked for: it must not go around the budget.
    const price = model.price ?? this.model.price;
    const isFree = outcome === 'cached' || usage === NO_USAGE || price === undefined;
    const cost = isFree ? 0 : toCost(price, usage, this.call);
    const recorded = deps.records.add({
      workspaceId: caller.workspaceId,
      subject: caller.email,
      keyId: caller.keyId,
      endpoint,
      model: model.unlisted?.answered === false ? UNLISTED : model.id,
      metricsModel: model.unlisted === undefined ? model.id : UNLISTED,
      target: target?.name ?? '',
      outcome,
      continues: continues === true,
      usage,
      cost,
      latencyMs: performance.now() - this.startedAtMs,
      firstEventMs,
      requestId,
      traceId: (this.callSpan?.span ?? trace ?? currentTrace())?.traceId,
    });
    if (firstEventMs !== undefined && target !== undefined)
      deps.firstToken.observe({ target: target.name }, firstEventMs / 1000);
    this.callSpan?.end({ outcome, usage, cost, firstEventMs, target });
    const { promptTokens, completionTokens } = usage;
    const used = { tokens: promptTokens + completionTokens, completionTokens, cost };
    this.reservation?.settle(outcome === 'cached' ? NOTHING_USED : used);
    return recorded;
  }
}
