// A model call, over HTTP or from another area: cache → limits → attempts → answer → account.

import type { Deadlines } from '../core/deadlines.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import { OpenAiRefusal, withHeaders } from '../http/openai-error.ts';
import { type Account, NO_USAGE, type Outcome, toCost } from './accounting/account.ts';
import type { Ledger } from './accounting/ledger.ts';
import type { Endpoint } from './adapters/adapter.ts';
import type { Settled } from './allowance.ts';
import { NOTHING_USED, type Reservation } from './allowances.ts';
import { nonsense, type StreamAnswer, type WholeAnswer } from './answer.ts';
import type { Call } from './attempt.ts';
import { createBodies } from './bodies.ts';
import type { AnswerCache } from './cache.ts';
import { toByteStream, toChunks } from './chunks.ts';
import type { Reserve } from './estimate.ts';
import type { Execute, Executed } from './execute.ts';
import { findModel } from './find-model.ts';
import type { ModelCall, Served } from './model-call.ts';
import type { Attempt } from './plan.ts';
import { pumpStream } from './pump.ts';
import { type GatewayRequest, parseWhole, readMember } from './request.ts';
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

export function createServe(deps: ServeDeps): Serve {
  const { catalogue, reserve, cache, execute, ledger, deadlines, onInterrupt } = deps;
  return async (call) => {
    const startedAtMs = performance.now();
    const known = catalogue();
    const present = known instanceof Promise ? await known : known;
    const model = findModel(present, call);
    if (!call.continues) ledger.requireRoom();

    const account = (executed: Pick<Executed, 'model' | 'target'> | undefined, end: Ended): Settled => {
      const answering = executed?.model ?? model;
      const cost = end.outcome === 'cached' ? 0 : toCost(answering.price, end.usage);
      ledger.add(
        toAccount(call, { model: answering.id, target: executed?.target.name ?? '', outcome: end.outcome }),
        {
          ...{ usage: end.usage, cost, firstEventMs: end.firstEventMs },
          requests: call.continues ? 0 : 1,
          latencyMs: performance.now() - startedAtMs,
        },
      );
      const { promptTokens, completionTokens } = end.usage;
      return { tokens: promptTokens + completionTokens, completionTokens, cost };
    };
    const ask = async (reservation: Reservation): Promise<Executed> => {
      let last: Attempt | undefined;
      try {
        return await execute({
          catalogue: present,
          model,
          call: toCall(call, model),
          atMostOnce: call.atMostOnce,
          onAttempt: (attempt) => {
            last = { model, target: attempt.target };
          },
        });
      } catch (error) {
        const left = call.signal.aborted;
        const usage = left
          ? { ...NO_USAGE, promptTokens: estimatePrompt(call.request.bytes), estimated: true }
          : NO_USAGE;
        const outcome = left ? 'cancelled' : failureOf(error);
        reservation.settle(account(last, { outcome, usage, firstEventMs: undefined }));
        throw error instanceof OpenAiRefusal && last !== undefined
          ? withHeaders(error, targetHeader(last))
          : error;
      }
    };
    const serveFresh = async (onBlock?: (block: Uint8Array) => void): Promise<Served> => {
      const reserving = reserve(call, { catalogue: present, model });
      const reservation = reserving instanceof Promise ? await reserving : reserving;
      const settle = (executed: Executed, end: Ended): void => reservation.settle(account(executed, end));
      const executed = await ask(reservation);
      const { answer } = executed;
      if (answer.kind === 'whole') {
        settle(executed, toEnded(answer, call));
        const headers = Object.assign(answer.headers, reservation.headers(), targetHeader(executed));
        if (answer.status === 200 && streamsText(call)) return await asStream(answer, call);
        return { kind: 'whole', status: answer.status, headers, bytes: answer.bytes };
      }
      const body = pump(executed, answer, {
        ...{ call, startedAtMs, deadlines, onInterrupt, account: settle, onBlock },
      });
      const headers = { ...answer.headers, ...reservation.headers(), ...targetHeader(executed) };
      return { kind: 'stream', headers, body };
    };
    if (model.cacheTtlSeconds === 0) return serveFresh();
    const onHit = async (usage: Usage): Promise<Record<string, string>> => {
      const reservation = await reserve(call, undefined);
      account(undefined, { outcome: 'cached', usage, firstEventMs: undefined });
      reservation.settle(NOTHING_USED);
      return reservation.headers();
    };
    return cache.serve({ call, model, serveFresh, onHit });
  };
}

const targetHeader = ({ target }: Attempt): Record<string, string> => ({
  [TARGET_HEADER]: target.headerName,
});

const failureOf = (error: unknown): Outcome =>
  error instanceof OpenAiRefusal && error.kind === 'malformed' ? 'refused' : 'failed';

const streamsText = ({ request, endpoint }: ModelCall): boolean => request.stream && isText(endpoint);

const isText = (endpoint: Endpoint): boolean => endpoint === 'chat' || endpoint === 'completions';

/** A stream was requested, and an upstream that does not stream has sent a whole answer. */
async function asStream({ bytes, headers }: WholeAnswer, { request }: ModelCall): Promise<Served> {
  const body = toByteStream(toChunks(await parseAnswer(bytes), asksForUsage(request)));
  return { kind: 'stream', headers, body };
}

/** Throws 502: of large answers only the ends have been looked at. */
async function parseAnswer(bytes: Uint8Array): Promise<JsonObject> {
  try {
    return await parseWhole({ bytes });
  } catch (error) {
    throw nonsense(error).refusal;
  }
}

type Ended = { outcome: Outcome; usage: Usage; firstEventMs: number | undefined };

function pump(
  executed: Executed,
  answer: StreamAnswer,
  options: {
    call: ModelCall;
    startedAtMs: number;
    deadlines: Deadlines;
    onInterrupt: OnInterrupt;
    account: (executed: Executed, end: Ended) => void;
    onBlock: ((block: Uint8Array) => void) | undefined;
  },
): ReadableStream<Uint8Array> {
  const { call, startedAtMs, deadlines, onInterrupt, account, onBlock } = options;
  return pumpStream({
    ...{ answer, deadlines, startedAtMs, onInterrupt, onBlock },
    spec: executed.target.upstream?.spec,
    hidesUsage: !asksForUsage(call.request),
    endsPlainly: call.endpoint === 'images',
    estimatePrompt: () => estimatePrompt(call.request.bytes),
    signal: call.signal,
    onEnd: (end) => account(executed, end),
  });
}

const toAccount = (
  { caller, endpoint }: ModelCall,
  rest: Pick<Account, 'model' | 'target' | 'outcome'>,
): Account => ({
  workspaceId: caller.workspaceId,
  subject: caller.email,
  keyId: caller.keyId,
  endpoint,
  ...rest,
});

function toEnded(answer: WholeAnswer, { request, endpoint }: ModelCall): Ended {
  if (answer.status >= 400) {
    return { outcome: answer.status >= 500 ? 'failed' : 'refused', usage: NO_USAGE, firstEventMs: undefined };
  }
  const estimated = (): Usage => ({
    promptTokens: estimatePrompt(request.bytes),
    // Pictures and vectors are no tokens.
    completionTokens: isText(endpoint) ? estimateTokens(answer.bytes.length) : 0,
    estimated: true,
  });
  return { outcome: 'ok', usage: answer.usage ?? estimated(), firstEventMs: undefined };
}

const toCall = (call: ModelCall, model: Model): Call => {
  const { endpoint, request, headers, requestId, signal } = call;
  const includeUsage = request.stream && asksForUsage(request);
  const bodyFor = createBodies(request, { endpoint, includeUsage });
  const { stream } = request;
  return { endpoint, modelId: model.id, stream, includeUsage, bodyFor, headers, requestId, signal };
};

function asksForUsage(request: GatewayRequest): boolean {
  const options = readMember(request, 'stream_options');
  return (
    typeof options === 'object' &&
    options !== null &&
    'include_usage' in options &&
    options['include_usage'] === true
  );
}
