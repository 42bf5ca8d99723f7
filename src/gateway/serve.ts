// A model call, over HTTP or from another area: cache → limits → attempts → answer → account.

import { isLimited } from '../core/principal.ts';
import { currentTrace, errorTypeOf, inTrace, isTraced } from '../core/tracing.ts';
import type { Histogram } from '../http/metrics.ts';
import { OpenAiRefusal, withHeaders } from '../http/openai-error.ts';
import type { UsageRecords } from './accounting/usage-records.ts';
import { type Endpoint, isText } from './adapters/adapter.ts';
import type { Estimate } from './allowance.ts';
import { type Allowances, NOTHING_USED } from './allowances.ts';
import type { Answer, WholeAnswer } from './answer.ts';
import type { AnswerCache } from './cache.ts';
import { type CallSpan, startCallSpan } from './call-span.ts';
import { type CatalogueKeeper, findModel } from './catalogue/current.ts';
import { noteUnlisted } from './catalogue/unlisted.ts';
import { toStream } from './chunks.ts';
import { countChoices, estimateUse, refuseOddCounts, requirePrice, toCost } from './estimate.ts';
import type { Attempt, Execute, Execution } from './execute.ts';
import type { Ended, ModelCall, Served } from './model-call.ts';
import { relay } from './relay.ts';
import { type Model, TARGET_HEADER, UNLISTED } from './targets.ts';
import { estimateCompletion, estimatePrompt, MEDIUM_TOKENS, NO_USAGE, type Usage } from './usage.ts';

/** Throws OpenAiRefusal if the model cannot answer; the reason of the signal if the caller has disconnected. */
export type Serve = (call: ModelCall) => Promise<Served>;

export type ServeDeps = {
  catalogue: Pick<CatalogueKeeper, 'current'>;
  allowances: Pick<Allowances, 'reserve'>;
  cache: AnswerCache;
  execute: Execute;
  records: UsageRecords;
  /** Of the seconds to the first event of a stream, by target. */
  firstToken: Pick<Histogram, 'observe'>;
  /** How often a silent stream gets a comment. */
  keepAliveMs: number;
  shutdown: AbortSignal;
};

type OnBlock = (block: Uint8Array) => void;

export function createServe(deps: ServeDeps): Serve {
  return async (call) => {
    const model = findModel(await deps.catalogue.current(), call);
    call.onModel?.(model.id);
    refuseOddCounts(call);
    requirePrice(model, call.caller);
    if (!call.continues) deps.records.requireRoom();
    const callSpan = isTraced() ? startCallSpan(call, model.id) : undefined;
    const serving = new Serving(call, model, callSpan, deps);
    const answer = (): Promise<Served> => {
      if (model.cacheTtlSeconds === 0) return serving.fresh();
      return deps.cache.serve({
        call,
        model,
        serveFresh: (onBlock) => serving.fresh(onBlock),
        onHit: (usage) => serving.fromCache(usage),
      });
    };
    return callSpan === undefined ? answer() : inTrace(callSpan.span, answer);
  };
}

/** One call: its reservation, its attempts and its usage record. */
class Serving implements Execution {
  readonly model: Model;
  last: Attempt | undefined;
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
    this.reservation = await this.reserve(() => NOTHING_USED);
    await this.account(this.model, { outcome: 'cached', usage });
    return this.reservation?.headers() ?? {};
  }

  async fresh(onBlock?: OnBlock): Promise<Served> {
    const { call, model } = this;
    const content = this.callSpan?.content;
    this.reservation = await this.reserve((recentCompletionTokens) =>
      estimateUse(call, { models: model.candidates, recentCompletionTokens }),
    );
    const includeUsage = call.request.includesUsage;
    let answer: Answer;
    try {
      answer = await this.deps.execute({ ...call, modelId: model.id, includeUsage }, this);
    } catch (error) {
      throw this.failed(error);
    }
    if (model.unlisted !== undefined)
      answer = noteUnlisted(answer, model.unlisted, await this.deps.catalogue.current());
    const end = (ended: Ended): Promise<void> => this.account(this.last?.model ?? model, ended);
    if (answer.kind === 'whole') {
      content?.add(answer.bytes);
      await end(toEnded(answer, call.endpoint));
    }
    const headers = Object.assign(answer.headers, this.reservation?.headers(), this.targetHeader());
    if (answer.kind === 'stream') {
      const stream = relay({
        answer,
        keepAliveMs: this.deps.keepAliveMs,
        shutdown: this.deps.shutdown,
        signal: call.signal,
        spec: this.last?.target.upstream?.spec,
        startedAtMs: this.startedAtMs,
        hidesUsage: !includeUsage,
        endsPlainly: call.endpoint === 'images',
        choices: countChoices(call),
        onEnd: end,
        onBlock(block) {
          onBlock?.(block);
          content?.add(block);
        },
      });
      return { kind: 'stream', headers, ...stream };
    }
    // A stream was requested, and an upstream that does not stream has sent a whole answer.
    if (answer.status === 200 && call.request.stream && isText(call.endpoint))
      return { kind: 'stream', headers, ...(await toStream(answer.bytes, includeUsage)) };
    return answer;
  }

  /**
   * For the most that the request may use. A part of a request shares the reservation of the whole; a key without limits has none.
   * Throws 429, which ends the call: it has no account.
   */
  private async reserve(estimate: Estimate): Promise<ModelCall['reservation']> {
    const { call } = this;
    if (call.reservation !== undefined || !isLimited(call.caller.limits)) return call.reservation;
    try {
      return await this.deps.allowances.reserve(call.caller, estimate);
    } catch (error) {
      const span = this.callSpan?.span;
      span?.fail(errorTypeOf(error));
      span?.end();
      throw error;
    }
  }

  /** Records a call that no target has answered; returns the error for the caller. */
  private failed(error: unknown): unknown {
    const { signal } = this.call;
    const isMalformed = error instanceof OpenAiRefusal && error.kind === 'malformed';
    const outcome = signal.aborted ? 'cancelled' : isMalformed ? 'refused' : 'failed';
    void this.account(this.model, { outcome, usage: signal.aborted ? undefined : NO_USAGE });
    return error instanceof OpenAiRefusal && this.last !== undefined
      ? withHeaders(error, this.targetHeader())
      : error;
  }

  private targetHeader(): Record<string, string> {
    return this.last === undefined ? {} : { [TARGET_HEADER]: this.last.target.headerName };
  }

  /** The actual use takes the place of the reservation. Resolves when the usage record is durable. */
  private account(model: Model, { outcome, usage: told, tokens = 0, firstEventMs }: Ended): Promise<void> {
    const { caller, endpoint, continues, request, requestId, trace } = this.call;
    const pictures = countChoices(this.call);
    const usage = told ?? {
      promptTokens: estimatePrompt(request),
      // Nothing is known of pictures but how many were asked for, as the reservation had it.
      completionTokens: endpoint === 'images' ? pictures * MEDIUM_TOKENS : tokens,
      estimated: true,
    };
    const target = this.last?.target;
    // A fallback without a price costs what was asked for: it must not go around the budget.
    const price = model.price ?? this.model.price;
    const isFree = outcome === 'cached' || usage === NO_USAGE || price === undefined;
    const cost = isFree ? 0 : toCost(price, usage, { endpoint, request, pictures });
    const recorded = this.deps.records.add({
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
      this.deps.firstToken.observe({ target: target.name }, firstEventMs / 1000);
    this.callSpan?.end({ outcome, usage, cost, firstEventMs, target });
    const { promptTokens, completionTokens } = usage;
    const used = { tokens: promptTokens + completionTokens, completionTokens, cost };
    this.reservation?.settle(outcome === 'cached' ? NOTHING_USED : used);
    return recorded;
  }
}

function toEnded({ status, usage, bytes }: WholeAnswer, endpoint: Endpoint): Ended {
  if (status >= 400) return { outcome: status >= 500 ? 'failed' : 'refused', usage: NO_USAGE };
  // Pictures and vectors are no tokens.
  return {
    outcome: 'ok',
    usage,
    tokens: usage === undefined && isText(endpoint) ? estimateCompletion(bytes) : 0,
  };
}
