// A model call, over HTTP or from another area: cache → limits → attempts → answer → account.

import type { Deadlines } from '../core/deadlines.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import { OpenAiRefusal, withHeaders } from '../http/openai-error.ts';
import { NO_USAGE, type Outcome, toCost } from './accounting/account.ts';
import type { Ledger } from './accounting/ledger.ts';
import type { Settled } from './allowance.ts';
import { NOTHING_USED, type Reservation } from './allowances.ts';
import { nonsense, type StreamAnswer, type WholeAnswer } from './answer.ts';
import type { AnswerCache } from './cache.ts';
import { toChunks } from './chunks.ts';
import type { Reserve } from './estimate.ts';
import { type EventStream, streamOf } from './events.ts';
import type { Execute, Executed } from './execute.ts';
import { asksForUsage, isText, type ModelCall, type Served, streamsText } from './model-call.ts';
import { type Attempt, findModel } from './plan.ts';
import { type PumpOptions, pumpStream } from './pump.ts';
import { parseWhole } from './request.ts';
import { type Catalogue, type Model, TARGET_HEADER } from './targets.ts';
import { estimatePrompt, estimateTokens, type Usage } from './usage.ts';
import type { JsonObject } from './wire.ts';

/** Throws OpenAiRefusal if the model cannot answer; the reason of the signal if the caller has disconnected. */
export type Serve = (call: ModelCall) => Promise<Served>;

export type ServeDeps = {
  catalogue: () => Catalogue | Promise<Catalogue>;
  reserve: Reserve;
  cache: AnswerCache;
  execute: Execute;
  ledger: Pick<Ledger, 'add' | 'requireRoom'>;
  deadlines: Deadlines;
  onInterrupt: OnInterrupt;
};

type Ended = { outcome: Outcome; usage: Usage; firstEventMs: number | undefined };

type OnBlock = (block: Uint8Array) => void;

export function createServe(deps: ServeDeps): Serve {
  return async (call) => {
    const known = deps.catalogue();
    const catalogue = known instanceof Promise ? await known : known;
    const model = findModel(catalogue, call);
    if (!call.continues) deps.ledger.requireRoom();
    const serving = new Serving(call, { catalogue, model }, deps);
    if (model.cacheTtlSeconds === 0) return serving.fresh();
    return deps.cache.serve({
      call,
      model,
      serveFresh: (onBlock) => serving.fresh(onBlock),
      onHit: (usage) => serving.fromCache(usage),
    });
  };
}

/** One call: its reservation, its attempts and its account. */
class Serving {
  private readonly startedAtMs = performance.now();
  private readonly call: ModelCall;
  private readonly asked: { catalogue: Catalogue; model: Model };
  private readonly deps: ServeDeps;

  constructor(call: ModelCall, asked: { catalogue: Catalogue; model: Model }, deps: ServeDeps) {
    this.call = call;
    this.asked = asked;
    this.deps = deps;
  }

  /** Counts a request whose answer is cached; returns the headers of the key's limits. Throws 429. */
  async fromCache(usage: Usage): Promise<Record<string, string>> {
    const reservation = await this.deps.reserve(this.call, undefined);
    this.account(undefined, { outcome: 'cached', usage, firstEventMs: undefined });
    reservation.settle(NOTHING_USED);
    return reservation.headers();
  }

  async fresh(onBlock?: OnBlock): Promise<Served> {
    const { call } = this;
    const reserving = this.deps.reserve(call, this.asked);
    const reservation = reserving instanceof Promise ? await reserving : reserving;
    const executed = await this.execute(reservation);
    const { answer } = executed;
    const settle = (end: Ended): void => reservation.settle(this.account(executed, end));
    if (answer.kind === 'stream') {
      const body = this.forward(answer, { spec: executed.target.upstream?.spec, onEnd: settle, onBlock });
      const headers = { ...answer.headers, ...reservation.headers(), ...targetHeader(executed) };
      return { kind: 'stream', headers, body };
    }
    settle(toEnded(answer, call));
    const headers = Object.assign(answer.headers, reservation.headers(), targetHeader(executed));
    // A stream was requested, and an upstream that does not stream has sent a whole answer.
    if (answer.status === 200 && streamsText(call)) {
      const body = streamOf(toChunks(await parseAnswer(answer.bytes), asksForUsage(call.request)));
      return { kind: 'stream', headers, body };
    }
    return { kind: 'whole', status: answer.status, headers, bytes: answer.bytes };
  }

  /** The attempts. A call that no target answers is accounted for here. */
  private async execute(reservation: Reservation): Promise<Executed> {
    const { call, asked } = this;
    const { model } = asked;
    let last: Attempt | undefined;
    try {
      return await this.deps.execute({
        ...asked,
        call: { ...call, modelId: model.id, includeUsage: asksForUsage(call.request) },
        onAttempt: ({ target }) => {
          last = { model, target };
        },
      });
    } catch (error) {
      const { aborted } = call.signal;
      const usage = aborted
        ? { ...NO_USAGE, promptTokens: estimatePrompt(call.request.bytes), estimated: true }
        : NO_USAGE;
      const outcome = aborted ? 'cancelled' : isMalformed(error) ? 'refused' : 'failed';
      reservation.settle(this.account(last, { outcome, usage, firstEventMs: undefined }));
      throw error instanceof OpenAiRefusal && last !== undefined
        ? withHeaders(error, targetHeader(last))
        : error;
    }
  }

  private forward(
    answer: StreamAnswer,
    options: Pick<PumpOptions, 'spec' | 'onEnd' | 'onBlock'>,
  ): EventStream {
    const { endpoint, request, signal } = this.call;
    const { deadlines, onInterrupt } = this.deps;
    return pumpStream({
      ...options,
      answer,
      deadlines,
      onInterrupt,
      signal,
      startedAtMs: this.startedAtMs,
      hidesUsage: !asksForUsage(request),
      endsPlainly: endpoint === 'images',
      estimatePrompt: () => estimatePrompt(request.bytes),
    });
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
    const { promptTokens, completionTokens } = usage;
    return { tokens: promptTokens + completionTokens, completionTokens, cost };
  }
}

const targetHeader = ({ target }: Attempt): Record<string, string> => ({
  [TARGET_HEADER]: target.headerName,
});

const isMalformed = (error: unknown): boolean => error instanceof OpenAiRefusal && error.kind === 'malformed';

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
