// What one key has used of its limits, as one process knows it: its own use, that of the other processes, and the reservations of
// running requests. Requests and tokens a minute are counted by GCRA (ITU-T I.371) with a burst of a whole minute: a time says until when
// the allowance is used up. No clock, no database.

import { newRandomId } from '../core/ids.ts';
import type { KeyLimits, RemainingLimits } from '../core/principal.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { ALLOWANCE_FRESH_MS, ALLOWANCE_LEASE_MS, ALLOWANCE_RECOVER_MS } from './limits.ts';

const MINUTE_MS = 60_000;
/** When a running request ends is not known: soon is worth a try. */
const RESERVED_WAIT_MS = 1000;

/** Allowance as milliseconds of its minute, and money. */
type Reserved = { tokensMs: number; cost: number };
/** The use of a month. It only grows. */
type Used = { requestsMs: number; tokensMs: number; spent: number };

/** The use of a request: tokens of prompt and completion together, and money in the units of the price table. */
export type Amount = { tokens: number; cost: number };
export type Settled = Amount & { completionTokens: number };
/** The most that a request may use, given the most tokens that recent completions of the key had. */
export type Estimate = (recentCompletionTokens: number) => Amount;

/** The absolute counters of one process, and for how long the allowances of a minute are used up. */
export type Report = Used & {
  counterId: string;
  month: number;
  reserved: Reserved;
  requestsLeftMs: number;
  tokensLeftMs: number;
};

/** The sums of all other processes. */
export type Others = Omit<Report, 'counterId'> & {
  /** Until the month turns. */
  monthLeftMs: number;
  /** What the usage records of the month say was spent; null where it was not asked for. */
  recorded: number | null;
};

/** Milliseconds since 1970 are doubles of steps of 2⁻¹² ms: so many additions may be off by this, and by no request. */
const toleranceMs = (requests: number): number => Math.min(requests / 4096, MINUTE_MS / requests / 2);

export class Allowance {
  /** Names the counters: a process that has forgotten them begins others. */
  readonly counterId = newRandomId();
  /** The keys that are counted here: a key, and those that it has replaced. */
  keyIds: ReadonlySet<string> = new Set();
  hasBudget = false;
  askedAtMs = 0;
  /** When the use of the others was asked for last, and until when it is good for admitting. */
  knownAtMs = Number.NEGATIVE_INFINITY;
  freshUntilMs = Number.NEGATIVE_INFINITY;
  /** Year and month, UTC, as the database says; 0: nothing is known yet. */
  private month = 0;
  private own: Used = { requestsMs: 0, tokensMs: 0, spent: 0 };
  private others: Used & { reserved: Reserved } = { ...this.own, reserved: { tokensMs: 0, cost: 0 } };
  private reserved: Reserved = { tokensMs: 0, cost: 0 };
  private running = 0;
  /** By the usage records: they have what a process that died had not reported. */
  private recorded = 0;
  private recordedAtMs = Number.NEGATIVE_INFINITY;
  /** Until when the allowances are used up, by all processes. */
  private requestsAt = 0;
  private tokensAt = 0;
  private reported: { report: Report; atMs: number } | undefined;
  /** Decaying maximum of recent completion sizes. */
  private recentCompletionTokens = 0;

  private get spent(): number {
    return Math.max(this.own.spent + this.others.spent, this.recorded);
  }

  /**
   * Admits a request while use and reservations are below each limit, and reserves its possible use, so that one request
   * may overdraw. No request reserves more than a whole limit. Throws 429, and then reserves nothing.
   */
  admit(limits: KeyLimits, estimate: Estimate, nowMs: number): Reserved {
    const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
    if (budget !== undefined) this.checkBudget(budget);
    if (tokens !== undefined) this.checkTokens(limits, tokens, nowMs);
    if (requests !== undefined) this.takeRequest(limits, requests, nowMs);
    const isEstimated = tokens !== undefined || budget !== undefined;
    const most = isEstimated ? estimate(this.recentCompletionTokens) : { tokens: 0, cost: 0 };
    const reserved = {
      tokensMs: tokens === undefined ? 0 : Math.min(MINUTE_MS, (most.tokens * MINUTE_MS) / tokens),
      cost: budget === undefined ? 0 : Math.min(budget, most.cost),
    };
    this.running += 1;
    this.reserved = add(this.reserved, reserved);
    return reserved;
  }

  private checkBudget(budget: number): void {
    if (this.spent >= budget)
      throw exhausted('The budget of the API key for this month is used up', {
        headers: { 'x-should-retry': 'false' },
      });
    if (this.spent + this.reserved.cost + this.others.reserved.cost >= budget)
      throw exhausted(
        'Requests that are running have reserved the rest of the budget of the API key for this month',
        { retryAfterSeconds: RESERVED_WAIT_MS / 1000 },
      );
  }

  private checkTokens(limits: KeyLimits, tokens: number, nowMs: number): void {
    const usedMs = Math.max(0, this.tokensAt - nowMs);
    if (usedMs + this.reserved.tokensMs + this.others.reserved.tokensMs < MINUTE_MS) return;
    const isUsed = usedMs >= MINUTE_MS;
    throw limited('tokens', {
      sentence: isUsed
        ? `The API key may use ${tokens} tokens a minute, and has used them up`
        : `The API key may use ${tokens} tokens a minute; requests that are running have reserved the rest`,
      waitMs: isUsed ? usedMs - MINUTE_MS + MINUTE_MS / tokens : RESERVED_WAIT_MS,
      headers: this.headers(limits, nowMs),
    });
  }

  private takeRequest(limits: KeyLimits, requests: number, nowMs: number): void {
    const intervalMs = MINUTE_MS / requests;
    const overMs = Math.max(0, this.requestsAt - nowMs) + intervalMs - MINUTE_MS;
    if (overMs > toleranceMs(requests))
      throw limited('requests', {
        sentence: `The API key may use ${requests} requests a minute, and has used them up`,
        waitMs: overMs,
        headers: this.headers(limits, nowMs),
      });
    this.requestsAt = Math.max(this.requestsAt, nowMs) + intervalMs;
    this.own.requestsMs += intervalMs;
  }

  /** Releases the reservation of a request, and counts its actual use. */
  settle(limits: KeyLimits, reserved: Reserved, used: Settled, nowMs: number): void {
    this.running -= 1;
    // Sums of fractions do not come back to 0 by themselves.
    this.reserved =
      this.running === 0
        ? { tokensMs: 0, cost: 0 }
        : {
            tokensMs: Math.max(0, this.reserved.tokensMs - reserved.tokensMs),
            cost: Math.max(0, this.reserved.cost - reserved.cost),
          };
    const { tokens_per_minute: tokens } = limits;
    const tokensMs = tokens === undefined ? 0 : (used.tokens * MINUTE_MS) / tokens;
    this.tokensAt = Math.max(this.tokensAt, nowMs) + tokensMs;
    this.own.tokensMs += tokensMs;
    this.own.spent += used.cost;
    if (used.completionTokens > 0) {
      const faded = this.recentCompletionTokens * 0.9 + used.completionTokens * 0.1;
      this.recentCompletionTokens = Math.ceil(Math.max(used.completionTokens, faded));
    }
  }

  /** The `x-ratelimit-*` headers. */
  headers({ requests_per_minute: requests, tokens_per_minute: tokens }: KeyLimits, nowMs: number) {
    const headers: Record<string, string> = {};
    const show = (name: string, limit: number, { remaining, resetMs }: Left): void => {
      headers[`x-ratelimit-limit-${name}`] = String(limit);
      headers[`x-ratelimit-remaining-${name}`] = String(remaining);
      headers[`x-ratelimit-reset-${name}`] = `${Math.ceil(resetMs) / 1000}s`;
    };
    if (tokens !== undefined) show('tokens', tokens, this.leftOfTokens(tokens, nowMs));
    if (requests !== undefined) show('requests', requests, this.leftOfRequests(requests, nowMs));
    return headers;
  }

  /** What the next request would find; `at` is the time `nowMs` by the wall clock. */
  remaining(limits: KeyLimits, nowMs: number, at: Date): RemainingLimits {
    const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
    const [year, month] = [Math.floor(this.month / 100), this.month % 100];
    const ofMinute = ({ remaining, resetMs }: Left) => ({
      remaining,
      resets_at: new Date(at.getTime() + resetMs).toISOString(),
    });
    const taken = this.spent + this.reserved.cost + this.others.reserved.cost;
    return {
      requests_per_minute: requests === undefined ? null : ofMinute(this.leftOfRequests(requests, nowMs)),
      tokens_per_minute: tokens === undefined ? null : ofMinute(this.leftOfTokens(tokens, nowMs)),
      budget_per_month:
        budget === undefined
          ? null
          : {
              // Money is not a binary fraction.
              remaining: Math.round(Math.max(0, budget - taken) * 1e9) / 1e9,
              // The months of Date count from 0, so that this is the next one.
              resets_at: new Date(Date.UTC(year, month)).toISOString(),
            },
    };
  }

  private leftOfTokens(limit: number, nowMs: number): Left {
    const reservedMs = this.reserved.tokensMs + this.others.reserved.tokensMs;
    return toLeft(limit, Math.max(0, this.tokensAt - nowMs) + reservedMs, 0);
  }

  private leftOfRequests(limit: number, nowMs: number): Left {
    return toLeft(limit, Math.max(0, this.requestsAt - nowMs), toleranceMs(limit));
  }

  /** Whether the other processes have not heard of something. Reservations are renewed in time, so that they stay valid. */
  hasNews(nowMs: number): boolean {
    const { own, reserved, reported } = this;
    const last = reported?.report ?? { requestsMs: 0, tokensMs: 0, spent: 0, reserved: NOTHING };
    const isSame =
      own.requestsMs === last.requestsMs &&
      own.tokensMs === last.tokensMs &&
      own.spent === last.spent &&
      reserved.tokensMs === last.reserved.tokensMs &&
      reserved.cost === last.reserved.cost;
    const isReserved = reserved.tokensMs > 0 || reserved.cost > 0;
    return !isSame || (isReserved && nowMs - (reported?.atMs ?? 0) > ALLOWANCE_LEASE_MS / 2);
  }

  /** Whether it can be forgotten without a loss. */
  isIdle(nowMs: number): boolean {
    return this.running === 0 && nowMs - this.askedAtMs > MINUTE_MS && !this.hasNews(nowMs);
  }

  /** Whether the spending is due to be compared with the usage records. */
  asksRecords(nowMs: number): boolean {
    return this.hasBudget && nowMs - this.recordedAtMs >= ALLOWANCE_RECOVER_MS;
  }

  report(nowMs: number): Report {
    return {
      ...this.own,
      counterId: this.counterId,
      month: this.month,
      reserved: { ...this.reserved },
      requestsLeftMs: this.requestsAt - nowMs,
      tokensLeftMs: this.tokensAt - nowMs,
    };
  }

  /** Takes over what the others have used, asked for at `sentAtMs` with this report, which was written if it had news. */
  learn(others: Others, { report, hasNews }: { report: Report; hasNews: boolean }, sentAtMs: number): void {
    if (sentAtMs < this.knownAtMs) return;
    if (hasNews) this.reported = { report, atMs: sentAtMs };
    if (others.month !== this.month) this.beginMonth(others.month, report);
    if (sentAtMs - this.knownAtMs > ALLOWANCE_FRESH_MS * 4) {
      // Some of what they have used since has been refilled: they know how much is left.
      this.requestsAt = Math.max(this.requestsAt, sentAtMs + others.requestsLeftMs);
      this.tokensAt = Math.max(this.tokensAt, sentAtMs + others.tokensLeftMs);
    } else {
      this.requestsAt = later(this.requestsAt, sentAtMs, others.requestsMs - this.others.requestsMs);
      this.tokensAt = later(this.tokensAt, sentAtMs, others.tokensMs - this.others.tokensMs);
    }
    this.others = others;
    if (others.recorded !== null) {
      this.recorded = others.recorded;
      this.recordedAtMs = sentAtMs;
    }
    this.knownAtMs = sentAtMs;
    this.freshUntilMs = sentAtMs + Math.min(ALLOWANCE_FRESH_MS, others.monthLeftMs);
  }

  /** What was reported belongs to the month before, and what came since to the new one. */
  private beginMonth(month: number, sent: Report): void {
    const { own } = this;
    if (this.month !== 0)
      this.own = {
        requestsMs: own.requestsMs - sent.requestsMs,
        tokensMs: own.tokensMs - sent.tokensMs,
        spent: own.spent - sent.spent,
      };
    this.month = month;
    this.others = { requestsMs: 0, tokensMs: 0, spent: 0, reserved: NOTHING };
    this.recorded = 0;
    this.recordedAtMs = Number.NEGATIVE_INFINITY;
    this.reported = undefined;
  }
}

const NOTHING: Reserved = { tokensMs: 0, cost: 0 };

const add = (a: Reserved, b: Reserved): Reserved => ({
  tokensMs: a.tokensMs + b.tokensMs,
  cost: a.cost + b.cost,
});

/** The allowance is used up for so much longer, at least from `nowMs` on. */
const later = (at: number, nowMs: number, moreMs: number): number =>
  moreMs > 0 ? Math.max(at, nowMs) + moreMs : at;

/** The remainder of a limit per minute, and after how many milliseconds all of it is available again. */
type Left = { remaining: number; resetMs: number };

const toLeft = (limit: number, resetMs: number, toleratedMs: number): Left => ({
  remaining: Math.max(0, Math.floor(((MINUTE_MS - resetMs + toleratedMs) / MINUTE_MS) * limit + 1e-6)),
  resetMs,
});

const limited = (
  kind: 'requests' | 'tokens',
  { sentence, waitMs, headers }: { sentence: string; waitMs: number; headers: Record<string, string> },
): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', sentence, {
    type: kind,
    code: 'rate_limit_exceeded',
    headers: { ...headers, 'retry-after-ms': String(Math.ceil(waitMs)) },
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

const exhausted = (
  sentence: string,
  details: { headers?: Record<string, string>; retryAfterSeconds?: number },
): OpenAiRefusal =>
  new OpenAiRefusal('too-many-requests', sentence, {
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    ...details,
  });
