// Limits of keys: requests and tokens a minute (GCRA), money a month. Counted in memory, so that a request waits for
// nothing; the processes tell one another a few times a second what was used. docs/decisions/007 says why so.

import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyLimits } from '../core/principal.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { ALLOWANCE_LOAD_MS, ALLOWANCE_SYNC_MS, ALLOWANCES_MAX } from './limits.ts';
import type { AllowanceStore, Used } from './store/allowances.ts';

export type Limited = { keyId: string; limits: KeyLimits };

export type Allowances = {
  /**
   * Reserves a request, and gives the `x-ratelimit-*` headers. Throws 429 when a limit is reached. A promise only the
   * first time that a key is seen.
   */
  reserve(caller: Limited): Record<string, string> | Promise<Record<string, string>>;
  /** What it has used, counted afterwards: so one request may overdraw. */
  use(caller: Limited, used: { tokens: number; cost: number }): void;
  job: Job;
};

const MINUTE_MS = 60_000;

/** Of one key: what is used up, and what of it nobody else knows yet. */
type State = Used & { untold: Untold; usedAtMs: number };
/** Allowance as milliseconds of its minute. */
type Untold = { requestsMs: number; tokensMs: number; spent: number };

export function createAllowances(deps: {
  store: AllowanceStore;
  log: Logger;
  /** Milliseconds since 1970. */
  now?: () => number;
}): Allowances {
  const { store, log, now = Date.now } = deps;
  const states = new Map<string, State>();
  const loading = new Map<string, Promise<State>>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let syncing: Promise<void> | undefined;
  let away = false;

  /** What others have used comes with it; while the database is away, everyone counts alone. */
  const load = async (keyId: string): Promise<State> => {
    const found = await Promise.race([
      store.find(keyId).catch(() => undefined),
      Bun.sleep(ALLOWANCE_LOAD_MS).then(() => undefined),
    ]);
    const used = found ?? { requestsAt: 0, tokensAt: 0, month: monthOf(now()), spent: 0 };
    const state: State = { ...used, untold: { requestsMs: 0, tokensMs: 0, spent: 0 }, usedAtMs: now() };
    states.set(keyId, state);
    loading.delete(keyId);
    if (states.size > ALLOWANCES_MAX) forgetIdle();
    return state;
  };
  const forgetIdle = (): void => {
    for (const [keyId, state] of states) {
      if (!hasUntold(state) && now() - state.usedAtMs > MINUTE_MS) states.delete(keyId);
    }
  };

  const sync = async (): Promise<void> => {
    const untold = [...states].filter(([, state]) => hasUntold(state));
    if (untold.length === 0) return;
    const sent = untold.map(([keyId, state]) => ({ keyId, month: state.month, ...state.untold }));
    const known = await store.add(sent, now());
    for (const [index, [keyId, state]] of untold.entries()) {
      const increase = sent[index];
      const shared = known.get(keyId);
      if (increase === undefined || shared === undefined) continue;
      merge(state, increase, shared);
    }
  };
  const syncSafely = (): Promise<void> => {
    syncing ??= sync()
      .then(() => {
        away = false;
      })
      .catch((error: unknown) => {
        if (!away) log.warn({ err: error }, 'limits of keys cannot be shared now; each process counts alone');
        away = true;
      })
      .finally(() => {
        syncing = undefined;
      });
    return syncing;
  };

  return {
    reserve({ keyId, limits }) {
      if (isUnlimited(limits)) return NOTHING;
      const state = states.get(keyId);
      if (state !== undefined) return reserve(state, limits, now());
      const coming = loading.get(keyId) ?? load(keyId);
      loading.set(keyId, coming);
      return coming.then((loaded) => reserve(loaded, limits, now()));
    },
    use({ keyId, limits }, { tokens, cost }) {
      const state = states.get(keyId);
      if (state === undefined) return;
      const nowMs = now();
      if (limits.tokens_per_minute !== undefined) {
        const usedMs = (tokens * MINUTE_MS) / limits.tokens_per_minute;
        state.tokensAt = Math.max(state.tokensAt, nowMs) + usedMs;
        state.untold.tokensMs += usedMs;
      }
      turnMonth(state, nowMs);
      state.spent += cost;
      state.untold.spent += cost;
    },
    job: {
      name: 'gateway.allowances',
      start() {
        timer = setInterval(() => void syncSafely(), ALLOWANCE_SYNC_MS);
      },
      async stop() {
        clearInterval(timer);
        await syncing;
        await syncSafely();
      },
      settle: syncSafely,
    },
  };
}

const NOTHING: Record<string, string> = {};

const isUnlimited = (limits: KeyLimits): boolean =>
  limits.requests_per_minute === undefined &&
  limits.tokens_per_minute === undefined &&
  limits.budget_per_month === undefined;

/** Year and month, UTC. */
const monthOf = (nowMs: number): number => {
  const at = new Date(nowMs);
  return at.getUTCFullYear() * 100 + at.getUTCMonth() + 1;
};

function turnMonth(state: State, nowMs: number): void {
  const month = monthOf(nowMs);
  if (state.month >= month) return;
  Object.assign(state, { month, spent: 0 });
  state.untold.spent = 0;
}

const hasUntold = ({ untold }: State): boolean =>
  untold.requestsMs > 0 || untold.tokensMs > 0 || untold.spent > 0;

/** What all have used, and on top of it what was used here while it was being told. */
function merge(state: State, sent: Untold & { month: number }, shared: Used): void {
  const { untold } = state;
  untold.requestsMs -= sent.requestsMs;
  untold.tokensMs -= sent.tokensMs;
  state.requestsAt = shared.requestsAt + untold.requestsMs;
  state.tokensAt = shared.tokensAt + untold.tokensMs;
  // What was told is of a month that may be over.
  if (state.month === sent.month) untold.spent -= sent.spent;
  if (state.month === shared.month) state.spent = shared.spent + untold.spent;
}

/** Milliseconds since 1970 are doubles of steps of 2⁻¹² ms: so many additions may be off by this, and by no request. */
const toleranceMs = (requests: number): number => Math.min(requests / 4096, MINUTE_MS / requests / 2);

/** GCRA (ITU-T I.371) with a burst of a whole minute: times say until when the allowance is spoken for. */
function reserve(state: State, limits: KeyLimits, nowMs: number): Record<string, string> {
  state.usedAtMs = nowMs;
  turnMonth(state, nowMs);
  const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
  if (budget !== undefined && state.spent >= budget) throw exhausted();
  const headers: Record<string, string> = {};
  if (tokens !== undefined) {
    const aheadMs = Math.max(0, state.tokensAt - nowMs);
    describe(headers, 'tokens', { limit: tokens, aheadMs });
    if (aheadMs >= MINUTE_MS)
      throw limited('tokens', { limit: tokens, waitMs: aheadMs - MINUTE_MS + MINUTE_MS / tokens, headers });
  }
  if (requests !== undefined) {
    const intervalMs = MINUTE_MS / requests;
    const aheadMs = Math.max(0, state.requestsAt - nowMs);
    const overMs = aheadMs + intervalMs - MINUTE_MS;
    if (overMs > toleranceMs(requests)) {
      describe(headers, 'requests', { limit: requests, aheadMs });
      throw limited('requests', { limit: requests, waitMs: overMs, headers });
    }
    state.requestsAt = Math.max(state.requestsAt, nowMs) + intervalMs;
    state.untold.requestsMs += intervalMs;
    describe(headers, 'requests', { limit: requests, aheadMs: aheadMs + intervalMs });
  }
  return headers;
}

type Kind = 'requests' | 'tokens';

function describe(
  headers: Record<string, string>,
  kind: Kind,
  { limit, aheadMs }: { limit: number; aheadMs: number },
): void {
  const remaining = Math.max(0, Math.floor(((MINUTE_MS - aheadMs) / MINUTE_MS) * limit + 1e-6));
  headers[`x-ratelimit-limit-${kind}`] = String(limit);
  headers[`x-ratelimit-remaining-${kind}`] = String(remaining);
  headers[`x-ratelimit-reset-${kind}`] = `${Math.ceil(aheadMs) / 1000}s`;
}

function limited(
  kind: Kind,
  { limit, waitMs, headers }: { limit: number; waitMs: number; headers: Record<string, string> },
) {
  const sentence = `The API key may use ${limit} ${kind} a minute, and has used them up`;
  return new OpenAiRefusal('too-many-requests', sentence, {
    ...{ type: kind, code: 'rate_limit_exceeded' },
    headers: { ...headers, 'retry-after-ms': String(Math.ceil(waitMs)) },
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });
}

const exhausted = () =>
  new OpenAiRefusal('too-many-requests', 'The budget of the API key for this month is used up', {
    ...{ type: 'insufficient_quota', code: 'insufficient_quota' },
    headers: { 'x-should-retry': 'false' },
  });
