// Limits of keys: requests and tokens a minute, money a month. They are counted in memory, so that a request does not wait. Several
// times a second one statement writes the counters of this process and reads those of the others. No request is admitted by older
// sums, or without any. docs/decisions/007 has the reasons.

import { unavailable } from '../core/errors.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { type CountedLimits, isLimited, type KeyLimits, type RemainingLimits } from '../core/principal.ts';
import { withDeadline } from '../infra/postgres/client.ts';
import { Allowance, type Estimate, type Settled } from './allowance.ts';
import {
  ALLOWANCE_ANSWER_MS,
  ALLOWANCE_IDLE_MS,
  ALLOWANCE_LOAD_MS,
  ALLOWANCE_RETRY_MS,
  ALLOWANCE_SYNC_MS,
  ALLOWANCES_MAX,
} from './limits.ts';
import type { AllowanceStore } from './store/allowances.ts';

export type Limited = { keyId: string; limits: CountedLimits };

export const NOTHING_USED: Settled = { tokens: 0, completionTokens: 0, cost: 0 };

/** The reservation of a running request. It must be settled, however the request ends. */
export class Reservation {
  private readonly allowance: Allowance;
  private readonly limits: KeyLimits;
  private readonly now: () => number;
  private readonly reserved: ReturnType<Allowance['admit']>;
  private isOpen = true;

  /** Throws 429 where the request is not admitted. */
  constructor(allowance: Allowance, limits: KeyLimits, estimate: Estimate, now: () => number) {
    this.allowance = allowance;
    this.limits = limits;
    this.now = now;
    this.reserved = allowance.admit(limits, estimate, now());
  }

  /** The `x-ratelimit-*` headers as they are now. */
  headers(): Record<string, string> {
    return this.allowance.headers(this.limits, this.now());
  }

  /** Releases it, and counts the actual use instead. Later calls do nothing. */
  settle(used: Settled): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.allowance.settle(this.limits, this.reserved, used, this.now());
  }
}

export class Allowances {
  private readonly store: AllowanceStore;
  private readonly log: Logger;
  private readonly now: () => number;
  private readonly allowancesMax: number;
  private readonly allowances = new Map<string, Allowance>();
  private exchanging: Promise<boolean> | undefined;
  private isAway = false;

  constructor(options: {
    store: AllowanceStore;
    log: Logger;
    /** Milliseconds of a monotonic clock. */
    now?: () => number;
    /** The number of keys in memory; beyond it, idle ones are read again at their next request. */
    allowancesMax?: number;
  }) {
    this.store = options.store;
    this.log = options.log;
    this.now = options.now ?? (() => performance.now());
    this.allowancesMax = options.allowancesMax ?? ALLOWANCES_MAX;
  }

  /**
   * Counts a request and reserves its possible use; undefined for a key without limits. Throws 429 when a limit is
   * reached, and 503 if the use of the other processes cannot be read.
   */
  async reserve({ keyId, limits }: Limited, estimate: Estimate): Promise<Reservation | undefined> {
    if (!isLimited(limits)) return undefined;
    return new Reservation(await this.fresh({ keyId, limits }), limits, estimate, this.now);
  }

  /** What the next request of the key would find; `at` is the time by the wall clock. Counts nothing; throws 503 as `reserve` does. */
  async remaining(caller: Limited, at: Date): Promise<RemainingLimits> {
    if (!isLimited(caller.limits))
      return { requests_per_minute: null, tokens_per_minute: null, budget_per_month: null };
    return (await this.fresh(caller)).remaining(caller.limits, this.now(), at);
  }

  /** The allowance of the key, by the present use of all processes. */
  private async fresh(caller: Limited): Promise<Allowance> {
    const askedAtMs = this.now();
    const allowance = this.find(caller, askedAtMs);
    const deadline = performance.now() + ALLOWANCE_LOAD_MS;
    while (this.now() >= allowance.freshUntilMs && allowance.knownAtMs < askedAtMs) {
      if (await this.exchange()) continue;
      if (performance.now() > deadline)
        throw unavailable('Rate limit usage of the API key is temporarily unavailable');
      await Bun.sleep(ALLOWANCE_RETRY_MS);
    }
    return allowance;
  }

  /** A key and those that it replaces have one allowance, that of the first. */
  private find({ keyId, limits }: Limited, nowMs: number): Allowance {
    const { predecessors: [name = keyId, ...others] = [] } = limits;
    let allowance = this.allowances.get(name);
    if (allowance === undefined) {
      allowance = new Allowance();
      this.allowances.set(name, allowance);
      if (this.allowances.size > this.allowancesMax)
        for (const [id, each] of this.allowances)
          if (each !== allowance && each.isIdle(nowMs)) this.allowances.delete(id);
    }
    allowance.askedAtMs = nowMs;
    allowance.hasBudget = limits.budget_per_month !== undefined;
    if (!allowance.keyIds.has(keyId))
      allowance.keyIds = new Set([...allowance.keyIds, name, ...others, keyId]);
    return allowance;
  }

  /** One at a time. False: it failed; nothing is lost, because the next one sends all counters again. */
  private exchange(): Promise<boolean> {
    const succeed = (): boolean => {
      this.isAway = false;
      return true;
    };
    const fail = (err: unknown): boolean => {
      if (!this.isAway)
        this.log.warn({ err }, 'limits of keys cannot be shared; requests of limited keys are refused');
      this.isAway = true;
      return false;
    };
    this.exchanging ??= withDeadline(this.send(), ALLOWANCE_ANSWER_MS)
      .then(succeed, fail)
      .finally(() => {
        this.exchanging = undefined;
      });
    return this.exchanging;
  }

  /** For the keys that were used recently, or whose use the other processes do not know. */
  private async send(): Promise<void> {
    const nowMs = this.now();
    const sent = [...this.allowances].flatMap(([keyId, allowance]) => {
      const hasNews = allowance.hasNews(nowMs);
      if (!hasNews && nowMs - allowance.askedAtMs > ALLOWANCE_IDLE_MS) return [];
      const recordsOf = allowance.asksRecords(nowMs) ? [...allowance.keyIds] : null;
      return { keyId, allowance, hasNews, recordsOf, report: allowance.report(nowMs) };
    });
    if (sent.length === 0) return;
    const others = await this.store.exchange(sent);
    for (const each of sent) {
      const found = others.get(each.keyId);
      if (found !== undefined) each.allowance.learn(found, each, nowMs);
    }
  }

  private timer: ReturnType<typeof setInterval> | undefined;

  readonly job: Job = {
    name: 'gateway.allowances',
    start: () => {
      this.store.sweep().catch((err: unknown) => {
        this.log.warn({ err }, 'limits of the last month cannot be deleted now');
      });
      this.timer = setInterval(() => void this.exchange(), ALLOWANCE_SYNC_MS);
    },
    stop: async () => {
      clearInterval(this.timer);
      await this.settle();
    },
    settle: () => this.settle(),
  };

  /** An exchange that is under way may have begun before what has to be told. */
  private async settle(): Promise<void> {
    await this.exchanging;
    await this.exchange();
  }
}
