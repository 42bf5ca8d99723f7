// What one key has used and reserved, and whether it may use more. Requests and tokens a minute are counted by GCRA
// (ITU-T I.371) with a burst of a whole minute: times say until when the allowance is spoken for. No clock, no database.

import type { KeyLimits } from '../core/principal.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Used } from './store/allowances.ts';

export const MINUTE_MS = 60_000;

/** What requests that run may use: allowance as milliseconds of its minute, and money. */
export type Reserved = { tokensMs: number; cost: number };

/** What a request uses: tokens of prompt and completion together, and money in the units of the price table. */
export type Amount = { tokens: number; cost: number };

export type Settled = Amount & { completionTokens: number };

/** What a request may use; it is told how many tokens the recent completions of the key had at most. */
export type Estimate = (recentCompletionTokens: number) => Amount;

export type Allowance = Used & {
  /** What of the use no other process knows yet. */
  untold: { requestsMs: number; tokensMs: number; spent: number };
  /** Of the requests that run in this process. */
  reserved: Reserved;
  running: number;
  /** What the other processes know of `reserved`, and when they were told. */
  told: Reserved & { atMs: number };
  /** What the other processes have reserved, as they said; it is believed until then. */
  elsewhere: Reserved & { untilMs: number };
  /** The largest completion of late; it fades with each smaller one. */
  recentCompletionTokens: number;
  askedAtMs: number;
};

export const newAllowance = (used: Used, nowMs: number): Allowance => ({
  ...used,
  untold: { requestsMs: 0, tokensMs: 0, spent: 0 },
  reserved: { tokensMs: 0, cost: 0 },
  running: 0,
  told: { tokensMs: 0, cost: 0, atMs: nowMs },
  elsewhere: { tokensMs: 0, cost: 0, untilMs: 0 },
  recentCompletionTokens: 0,
  askedAtMs: nowMs,
});

export const isUnlimited = (limits: KeyLimits): boolean =>
  limits.requests_per_minute === undefined &&
  limits.tokens_per_minute === undefined &&
  limits.budget_per_month === undefined;

/** Year and month, UTC. */
export const monthOf = (nowMs: number): number => {
  const at = new Date(nowMs);
  return at.getUTCFullYear() * 100 + at.getUTCMonth() + 1;
};

function turnMonth(allowance: Allowance, nowMs: number): void {
  const month = monthOf(nowMs);
  if (allowance.month >= month) return;
  Object.assign(allowance, { month, spent: 0 });
  allowance.untold.spent = 0;
}

/** Milliseconds since 1970 are doubles of steps of 2⁻¹² ms: so many additions may be off by this, and by no request. */
const toleranceMs = (requests: number): number => Math.min(requests / 4096, MINUTE_MS / requests / 2);

/**
 * Takes a request, and reserves what it may use: while what is used and reserved is below each limit, so that one
 * request may overdraw. No request reserves more than a whole limit. Throws 429, and then takes nothing.
 */
export function admit(
  allowance: Allowance,
  limits: KeyLimits,
  { estimate, nowMs }: { estimate: Estimate; nowMs: number },
): Reserved {
  allowance.askedAtMs = nowMs;
  turnMonth(allowance, nowMs);
  const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
  const others = elsewhereOf(allowance, nowMs);
  if (budget !== undefined) {
    if (allowance.spent >= budget) throw budgetIsSpent();
    if (allowance.spent + allowance.reserved.cost + others.cost >= budget) throw budgetIsReserved();
  }
  if (tokens !== undefined) checkTokens(allowance, limits, { tokens, nowMs });
  if (requests !== undefined) takeRequest(allowance, limits, { requests, nowMs });
  const { tokens: estimated, cost } =
    tokens === undefined && budget === undefined ? NO_AMOUNT : estimate(allowance.recentCompletionTokens);
  const reserved = {
    tokensMs: tokens === undefined ? 0 : Math.min(MINUTE_MS, (estimated * MINUTE_MS) / tokens),
    cost: budget === undefined ? 0 : Math.min(budget, cost),
  };
  allowance.running += 1;
  allowance.reserved.tokensMs += reserved.tokensMs;
  allowance.reserved.cost += reserved.cost;
  return reserved;
}

const NO_AMOUNT: Amount = { tokens: 0, cost: 0 };
const NOTHING_RESERVED: Reserved = { tokensMs: 0, cost: 0 };

/** A process that is not heard of any more reserves nothing. */
const elsewhereOf = ({ elsewhere }: Allowance, nowMs: number): Reserved =>
  elsewhere.untilMs > nowMs ? elsewhere : NOTHING_RESERVED;

function checkTokens(
  allowance: Allowance,
  limits: KeyLimits,
  { tokens, nowMs }: { tokens: number; nowMs: number },
): void {
  const usedMs = Math.max(0, allowance.tokensAt - nowMs);
  const reservedMs = allowance.reserved.tokensMs + elsewhereOf(allowance, nowMs).tokensMs;
  if (usedMs + reservedMs < MINUTE_MS) return;
  const isUsed = usedMs >= MINUTE_MS;
  throw limited('tokens', {
    sentence: isUsed
      ? `The API key may use ${tokens} tokens a minute, and has used them up`
      : `The API key may use ${tokens} tokens a minute; requests that are running have reserved the rest`,
    waitMs: isUsed ? usedMs - MINUTE_MS + MINUTE_MS / tokens : RESERVED_WAIT_MS,
    headers: describe(allowance, limits, nowMs),
  });
}

function takeRequest(
  allowance: Allowance,
  limits: KeyLimits,
  { requests, nowMs }: { requests: number; nowMs: number },
): void {
  const intervalMs = MINUTE_MS / requests;
  const overMs = Math.max(0, allowance.requestsAt - nowMs) + intervalMs - MINUTE_MS;
  if (overMs > toleranceMs(requests)) {
    throw limited('requests', {
      sentence: `The API key may use ${requests} requests a minute, and has used them up`,
      waitMs: overMs,
      headers: describe(allowance, limits, nowMs),
    });
  }
  allowance.requestsAt = Math.max(allowance.requestsAt, nowMs) + intervalMs;
  allowance.untold.requestsMs += intervalMs;
}

/** Gives back what a request has reserved, and counts what it has used. */
export function settle(
  allowance: Allowance,
  limits: KeyLimits,
  { reserved, used, nowMs }: { reserved: Reserved; used: Settled; nowMs: number },
): void {
  allowance.running -= 1;
  // Sums of fractions do not come back to 0 by themselves.
  allowance.reserved =
    allowance.running === 0
      ? { tokensMs: 0, cost: 0 }
      : {
          tokensMs: Math.max(0, allowance.reserved.tokensMs - reserved.tokensMs),
          cost: Math.max(0, allowance.reserved.cost - reserved.cost),
        };
  if (limits.tokens_per_minute !== undefined) {
    const usedMs = (used.tokens * MINUTE_MS) / limits.tokens_per_minute;
    allowance.tokensAt = Math.max(allowance.tokensAt, nowMs) + usedMs;
    allowance.untold.tokensMs += usedMs;
  }
  turnMonth(allowance, nowMs);
  allowance.spent += used.cost;
  allowance.untold.spent += used.cost;
  if (used.completionTokens > 0) {
    const faded = allowance.recentCompletionTokens * 0.9 + used.completionTokens * 0.1;
    allowance.recentCompletionTokens = Math.ceil(Math.max(used.completionTokens, faded));
  }
}

/** The `x-ratelimit-*` headers: what is reserved is not left. */
export function describe(allowance: Allowance, limits: KeyLimits, nowMs: number): Record<string, string> {
  const { requests_per_minute: requests, tokens_per_minute: tokens } = limits;
  const headers: Record<string, string> = {};
  const write = (kind: Kind, limit: number, aheadMs: number): void => {
    const remaining = Math.max(0, Math.floor(((MINUTE_MS - aheadMs) / MINUTE_MS) * limit + 1e-6));
    headers[`x-ratelimit-limit-${kind}`] = String(limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(remaining);
    headers[`x-ratelimit-reset-${kind}`] = `${Math.ceil(aheadMs) / 1000}s`;
  };
  if (tokens !== undefined) {
    const reservedMs = allowance.reserved.tokensMs + elsewhereOf(allowance, nowMs).tokensMs;
    write('tokens', tokens, Math.max(0, allowance.tokensAt - nowMs) + reservedMs);
  }
  if (requests !== undefined) write('requests', requests, Math.max(0, allowance.requestsAt - nowMs));
  return headers;
}

type Kind = 'requests' | 'tokens';

/** When a running request ends is not known: soon is worth a try. */
const RESERVED_WAIT_MS = 1000;

const limited = (
  kind: Kind,
  { sentence, waitMs, headers }: { sentence: string; waitMs: number; headers: Record<string, string> },
): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', sentence, {
    ...{ type: kind, code: 'rate_limit_exceeded' },
    headers: { ...headers, 'retry-after-ms': String(Math.ceil(waitMs)) },
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

const QUOTA = { type: 'insufficient_quota', code: 'insufficient_quota' };

const budgetIsSpent = (): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', 'The budget of the API key for this month is used up', {
    ...QUOTA,
    headers: { 'x-should-retry': 'false' },
  });

const budgetIsReserved = (): OpenAiRefusal =>
  new OpenAiRefusal(
    'too-many-requests',
    'Requests that are running have reserved the rest of the budget of the API key for this month',
    { ...QUOTA, retryAfterSeconds: RESERVED_WAIT_MS / 1000 },
  );
