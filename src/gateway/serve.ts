// A model call, over HTTP or from another area: cache → limits → attempts → answer → account.

import type { Deadlines } from '../core/deadlines.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { JsonObject } from '../core/json.ts';
import { errorTypeOf, inTrace, isTraced } from '../core/tracing.ts';
import type { Histogram } from '../http/metrics.ts';
import { OpenAiRefusal, withHeaders } from '../http/openai-error.ts';
import type { Outcome } from './accounting/account.ts';
import type { Ledger } from './accounting/ledger.ts';
import type { Settled } from './allowance.ts';
import { type Allowances, NOTHING_USED, type Reservation } from './allowances.ts';
import { type Answer, nonsense, type WholeAnswer } from './answer.ts';
import type { AnswerCache } from './cache.ts';
import { type CallSpan, startCallSpan } from './call-span.ts';
import { toChunks } from './chunks.ts';
import { estimateUse } from './estimate.ts';
import { streamOf } from './events.ts';
import type { Execute, Execution } from './execute.ts';
import type { ModelCall, Served } from './model-call.ts';
import { type Attempt, findModel, withFallbacks } from './plan.ts';
import { pumpStream } from './pump.ts';
import { asksForUsage, isText, parseWhole } from './request.ts';
import { type Catalogue, type Model, TARGET_HEADER, type Target } from './targets.ts';
import { estimatePrompt, estimateTokens, NO_USAGE, toCost, type Usage } from './usage.ts';

/** Throws OpenAiRefusal if the model cannot answer; the reason of the signal if the caller has disconnected. */
export type Serve = (call: ModelCall) => Promise<Served>;

export type ServeDeps = {
  catalogue: () => Catalogue | Promise<Catalogue>;
  allowances: Pick<Allowances, 'reserve'>;
  cache: AnswerCache;
  execute: Execute;
  ledger: Pick<Ledger, 'add' | 'requireRoom'>;
  /** Of the seconds to the first event of a stream, by target. */
  firstToken: Pick<Histogram, 'observe'>;
  deadlines: Deadlines;
  onInterrupt: OnInterrupt;
};

type Ended = { outcome: Outcome; usage: Usage; firstEventMs: number | undefined };

type OnBlock = (block: Uint8Array) => void;

export function createServe(deps: ServeDeps): Serve {
  const begin = (catalogue: Catalogue, call: ModelCall): Promise<Served> => {
    const model = findModel(catalogue, call);
    if (!call.continues) deps.ledger.requireRoom();
    const callSpan = isTraced() ? startCallSpan(call, model.id) : undefined;
    const serving = new Serving(call, { catalogue, model, callSpan }, deps);
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
  return (call) => {
    try {
      const known = deps.catalogue();
      return known instanceof Promise ? known.then((each) => begin(each, call)) : begin(known, call);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

type Asked = { catalogue: Catalogue; model: Model; callSpan: CallSpan | undefined };

/** One call: its reservation, its attempts and its account. */
class Serving {
  private readonly startedAtMs = performance.now();
  private readonly call: ModelCall;
  private readonly asked: Asked;
  private readonly deps: ServeDeps;

  constructor(call: ModelCall, asked: Asked, deps: ServeDeps) {
    this.call = call;
    this.asked = asked;
    this.deps = deps;
  }

  /** Counts a request whose answer is cached; returns the headers of the key's limits. Throws 429. */
  async fromCache(usage: Usage): Promise<Record<string, string>> {
    const reservation = await this.reserve(undefined);
    this.account(undefined, { outcome: 'cached', usage, firstEventMs: undefined });
    reservation.settle(NOTHING_USED);
    return reservation.headers();
  }

  async fresh(onBlock?: OnBlock): Promise<Served> {
    const { call, asked } = this;
    const content = asked.callSpan?.content;
    const reserving = this.reserve(asked);
    const reservation = reserving instanceof Promise ? await reserving : reserving;
    const execution: Execution = { catalogue: asked.catalogue, model: asked.model, last: undefined };
    let answer: Answer;
    let includeUsage: boolean;
    try {
      includeUsage = asksForUsage(call.request);
      answer = await this.deps.execute({ ...call, modelId: asked.model.id, includeUsage }, execution);
    } catch (error) {
      throw this.failed(error, execution.last?.target, reservation);
    }
    const { last } = execution;
    const settle = (end: Ended): void => reservation.settle(this.account(last, end));
    if (answer.kind === 'whole') {
      content?.add(answer.bytes);
      settle(toEnded(answer, call));
    }
    const headers = Object.assign(answer.headers, reservation.headers(), targetHeader(last?.target));
    if (answer.kind === 'stream') {
      const body = pumpStream({
        answer,
        deadlines: this.deps.deadlines,
        onInterrupt: this.deps.onInterrupt,
        signal: call.signal,
        spec: last?.target.upstream?.spec,
        startedAtMs: this.startedAtMs,
        hidesUsage: !includeUsage,
        endsPlainly: call.endpoint === 'images',
        estimatePrompt: () => estimatePrompt(call.request.bytes),
        onEnd: settle,
        onBlock: bothOf(onBlock, content?.add),
      });
      return { kind: 'stream', headers, body };
    }
    // A stream was requested, and an upstream that does not stream has sent a whole answer.
    if (answer.status === 200 && call.request.stream && isText(call.endpoint))
      return {
        kind: 'stream',
        headers,
        body: streamOf(toChunks(await parseAnswer(answer.bytes), includeUsage)),
      };
    return answer;
  }

  /**
   * For the most that the request may use; `asked` is undefined where no model is called, because the answer is cached. A part of a
   * request shares the reservation of the whole. Throws 429, which ends the call: it has no account.
   */
  private reserve(asked: Asked | undefined): Reservation | Promise<Reservation> {
    const { call } = this;
    const refused = (error: unknown): never => {
      const span = this.asked.callSpan?.span;
      span?.fail(errorTypeOf(error));
      span?.end();
      throw error;
    };
    try {
      const reserving =
        call.reservation ??
        this.deps.allowances.reserve(call.caller, (recentCompletionTokens) =>
          asked === undefined
            ? NOTHING_USED
            : estimateUse(call, {
                models: withFallbacks(asked.catalogue, asked.model),
                recentCompletionTokens,
              }),
        );
      return reserving instanceof Promise ? reserving.catch(refused) : reserving;
    } catch (error) {
      return refused(error);
    }
  }

  /** Accounts for a call that no target has answered; returns the error for the caller. */
  private failed(error: unknown, target: Target | undefined, reservation: Reservation): unknown {
    const { request, signal } = this.call;
    const promptTokens = signal.aborted ? estimatePrompt(request.bytes) : 0;
    const usage = { ...NO_USAGE, promptTokens, estimated: signal.aborted };
    const isMalformed = error instanceof OpenAiRefusal && error.kind === 'malformed';
    const outcome = signal.aborted ? 'cancelled' : isMalformed ? 'refused' : 'failed';
    const last = target === undefined ? undefined : { model: this.asked.model, target };
    reservation.settle(this.account(last, { outcome, usage, firstEventMs: undefined }));
    return error instanceof OpenAiRefusal && target !== undefined
      ? withHeaders(error, targetHeader(target))
      : error;
  }

  /** Writes the account; returns what counts towards the limits of the key. */
  private account(answering: Attempt | undefined, { outcome, usage, firstEventMs }: Ended): Settled {
    const { caller, endpoint, continues } = this.call;
    const model = answering?.model ?? this.asked.model;
    const cost = outcome === 'cached' ? 0 : toCost(model.price, usage);
    this.deps.ledger.add(
      {
        workspaceId: caller.workspaceId,
        subject: caller.email,
        keyId: caller.keyId,
        endpoint,
        model: model.id,
        target: answering?.target.name ?? '',
        outcome,
      },
      {
        usage,
        cost,
        firstEventMs,
        requests: continues ? 0 : 1,
        latencyMs: performance.now() - this.startedAtMs,
      },
    );
    const target = answering?.target;
    if (firstEventMs !== undefined && target !== undefined)
      this.deps.firstToken.observe({ target: target.name }, firstEventMs / 1000);
    this.asked.callSpan?.end({ outcome, usage, cost, firstEventMs, target });
    const { promptTokens, completionTokens } = usage;
    return { tokens: promptTokens + completionTokens, completionTokens, cost };
  }
}

const bothOf = (one: OnBlock | undefined, other: OnBlock | undefined): OnBlock | undefined =>
  one && other
    ? (block) => {
        one(block);
        other(block);
      }
    : (one ?? other);

const targetHeader = (target: Target | undefined): Record<string, string> =>
  target === undefined ? {} : { [TARGET_HEADER]: target.headerName };

/** Throws 502: of large answers only the ends have been looked at. */
async function parseAnswer(bytes: Uint8Array): Promise<JsonObject> {
  try {
    return await parseWhole({ bytes });
  } catch (error) {
    throw nonsense(error).refusal;
  }
}

function toEnded(answer: WholeAnswer, { request, endpoint }: ModelCall): Ended {
  if (answer.status >= 400) {
    return { outcome: answer.status >= 500 ? 'failed' : 'refused', usage: NO_USAGE, firstEventMs: undefined };
  }
  const usage = answer.usage ?? {
    promptTokens: estimatePrompt(request.bytes),
    // Pictures and vectors are no tokens.
    completionTokens: isText(endpoint) ? estimateTokens(answer.bytes.length) : 0,
    estimated: true,
  };
  return { outcome: 'ok', usage, firstEventMs: undefined };
}
