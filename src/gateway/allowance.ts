// The use and reservations of one key, and whether a request is admitted. Requests and tokens a minute are counted by
// GCRA (ITU-T I.371) with a burst of a whole minute: a time states until when the allowance is used up. No clock, no database.

import type { KeyLimits } from '../core/principal.ts';
import { budgetIsReserved, budgetIsSpent, limited, RESERVED_WAIT_MS } from './limit-refusals.ts';

export const MINUTE_MS = 60_000;

/** The reservation of running requests: allowance as milliseconds of its minute, and money. */
export type Reserved = { tokensMs: number; cost: number };

/** The use of a request: tokens of prompt and completion together, and money in the units of the price table. */
export type Amount = { tokens: number; cost: number };

export type Settled = Amount & { completionTokens: number };

/** The most that a request may use, given the most tokens that recent completions of the key had. */
export type Estimate = (recentCompletionTokens: number) => Amount;

export type Allowance = {
  /** The keys that are counted here. */
  keyIds: ReadonlySet<string>;
  /** Until when allowances are spoken for, by the clock of `admit`. */
  requestsAt: number;
  tokensAt: number;
  /** Year and month, UTC, as the database says; 0: nothing is known yet. */
  month: number;
  spent: number;
  /** The part of the use that has not been reported to the other processes yet. */
  unsynced: { requestsMs: number; tokensMs: number; spent: number };
  /** All of `unsynced` was used at this time or later. */
  unsyncedSinceMs: number;
  /** Of the requests that run in this process. */
  reserved: Reserved;
  running: number;
  /** The part of `reserved` that the other processes have received, and when they received it. */
  told: Reserved & { atMs: number };
  /** The reservations that the other processes have reported. */
  elsewhere: Reserved;
  /** When the total use of all processes was last requested. */
  knownAtMs: number;
  /** How long that admits. */
  freshUntilMs: number;
  /** When `spent` was compared with the accounts; only of interest where it has a limit. */
  hasBudget: boolean;
  recoveredAtMs: number;
  /** The largest completion of late; it fades with each smaller one. */
  recentCompletionTokens: number;
  askedAtMs: number;
};

export const newAllowance = (): Allowance => ({
  keyIds: new Set(),
  requestsAt: 0,
  tokensAt: 0,
  month: 0,
  spent: 0,
  unsynced: { requestsMs: 0, tokensMs: 0, spent: 0 },
  unsyncedSinceMs: 0,
  reserved: { tokensMs: 0, cost: 0 },
  running: 0,
  told: { tokensMs: 0, cost: 0, atMs: 0 },
  elsewhere: { tokensMs: 0, cost: 0 },
  knownAtMs: Number.NEGATIVE_INFINITY,
  freshUntilMs: Number.NEGATIVE_INFINITY,
  hasBudget: false,
  recoveredAtMs: Number.NEGATIVE_INFINITY,
  recentCompletionTokens: 0,
  askedAtMs: 0,
});

/** Milliseconds since 1970 are doubles of steps of 2⁻¹² ms: so many additions may be off by this, and by no request. */
const toleranceMs = (requests: number): number => Math.min(requests / 4096, MINUTE_MS / requests / 2);

/**
 * Admits a request while use and reservations are below each limit, and reserves its possible use, so that one request
 * may overdraw. No request reserves more than a whole limit. Throws 429, and then reserves nothing.
 */
export function admit(
  allowance: Allowance,
  limits: KeyLimits,
  { estimate, nowMs }: { estimate: Estimate; nowMs: number },
): Reserved {
  const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
  if (budget !== undefined) {
    if (allowance.spent >= budget) throw budgetIsSpent();
    if (allowance.spent + allowance.reserved.cost + allowance.elsewhere.cost >= budget)
      throw budgetIsReserved();
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

function checkTokens(
  allowance: Allowance,
  limits: KeyLimits,
  { tokens, nowMs }: { tokens: number; nowMs: number },
): void {
  const usedMs = Math.max(0, allowance.tokensAt - nowMs);
  const reservedMs = allowance.reserved.tokensMs + allowance.elsewhere.tokensMs;
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
  addUntold(allowance, { requestsMs: intervalMs, nowMs });
}

function addUntold(
  allowance: Allowance,
  { requestsMs = 0, tokensMs = 0, spent = 0, nowMs }: Partial<Allowance['unsynced']> & { nowMs: number },
): void {
  const { unsynced } = allowance;
  if (!isUsed(unsynced)) allowance.unsyncedSinceMs = nowMs;
  unsynced.requestsMs += requestsMs;
  unsynced.tokensMs += tokensMs;
  unsynced.spent += spent;
}

export const isUsed = ({ requestsMs, tokensMs, spent }: Allowance['unsynced']): boolean =>
  requestsMs > 0 || tokensMs > 0 || spent > 0;

/** Releases the reservation of a request, and counts its actual use. */
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
  const { tokens_per_minute: tokens } = limits;
  const tokensMs = tokens === undefined ? 0 : (used.tokens * MINUTE_MS) / tokens;
  allowance.tokensAt = Math.max(allowance.tokensAt, nowMs) + tokensMs;
  allowance.spent += used.cost;
  addUntold(allowance, { tokensMs, spent: used.cost, nowMs });
  if (used.completionTokens > 0) {
    const faded = allowance.recentCompletionTokens * 0.9 + used.completionTokens * 0.1;
    allowance.recentCompletionTokens = Math.ceil(Math.max(used.completionTokens, faded));
  }
}

/** The remainder of a limit per minute, and after how many milliseconds all of it is available again. */
export type Left = { limit: number; remaining: number; resetMs: number };

/** The remainder of the tokens of a minute. A reservation reduces it, as it does for `admit`. */
export function leftOfTokens(allowance: Allowance, limit: number, nowMs: number): Left {
  const reservedMs = allowance.reserved.tokensMs + allowance.elsewhere.tokensMs;
  return toLeft(limit, Math.max(0, allowance.tokensAt - nowMs) + reservedMs, 0);
}

/** The remainder of the requests of a minute. */
export const leftOfRequests = (allowance: Allowance, limit: number, nowMs: number): Left =>
  toLeft(limit, Math.max(0, allowance.requestsAt - nowMs), toleranceMs(limit));

const toLeft = (limit: number, resetMs: number, toleratedMs: number): Left => ({
  limit,
  remaining: Math.max(0, Math.floor(((MINUTE_MS - resetMs + toleratedMs) / MINUTE_MS) * limit + 1e-6)),
  resetMs,
});

/** The `x-ratelimit-*` headers. */
export function describe(
  allowance: Allowance,
  { requests_per_minute: requests, tokens_per_minute: tokens }: KeyLimits,
  nowMs: number,
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (tokens !== undefined) {
    const { remaining, resetMs } = leftOfTokens(allowance, tokens, nowMs);
    headers['x-ratelimit-limit-tokens'] = String(tokens);
    headers['x-ratelimit-remaining-tokens'] = String(remaining);
    headers['x-ratelimit-reset-tokens'] = toSeconds(resetMs);
  }
  if (requests !== undefined) {
    const { remaining, resetMs } = leftOfRequests(allowance, requests, nowMs);
    headers['x-ratelimit-limit-requests'] = String(requests);
    headers['x-ratelimit-remaining-requests'] = String(remaining);
    headers['x-ratelimit-reset-requests'] = toSeconds(resetMs);
  }
  return headers;
}

const toSeconds = (ms: number): string => `${Math.ceil(ms) / 1000}s`;
