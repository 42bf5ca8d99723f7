// Limits of keys: requests and tokens a minute, money a month. They are counted in memory, so that a request does not
// wait; the processes exchange use and reservations several times a second. No request is admitted with older totals,
// or without any. docs/decisions/007 has the reasons.

import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { type CountedLimits, isLimited, type KeyLimits, type RemainingLimits } from '../core/principal.ts';
import {
  type Allowance,
  admit,
  describe,
  type Estimate,
  MINUTE_MS,
  newAllowance,
  type Settled,
  settle,
} from './allowance.ts';
import { createSharing, hasNews } from './allowance-sharing.ts';
import { ALLOWANCE_SYNC_MS, ALLOWANCES_MAX } from './limits.ts';
import { remainingOf, UNTOUCHED } from './remaining.ts';
import type { AllowanceStore } from './store/allowances.ts';

export type Limited = { keyId: string; limits: CountedLimits };

/** The reservation of a running request. It must be settled once, however the request ends; later calls do nothing. */
export type Reservation = {
  /** The `x-ratelimit-*` headers as they are now. */
  headers(): Record<string, string>;
  /** Releases it and counts the actual use instead. */
  settle(used: Settled): void;
};

export type Allowances = {
  /**
   * Counts a request and reserves its possible use. Throws 429 when a limit is reached, and 503 if the use of the other
   * processes cannot be read. Returns a promise only for a key that was not used recently; without limits nothing is
   * estimated or counted.
   */
  reserve(caller: Limited, estimate: Estimate): Reservation | Promise<Reservation>;
  /**
   * What the next request of the key would find: the use of all processes, and the reservations of requests that are
   * running. `at` is the time by the wall clock. Counts nothing; throws 503 as `reserve` does.
   */
  remaining(caller: Limited, at: Date): Promise<RemainingLimits>;
  job: Job;
};

export const NOTHING_USED: Settled = { tokens: 0, completionTokens: 0, cost: 0 };

const NO_HEADERS: Record<string, string> = {};
const UNLIMITED: Reservation = { headers: () => NO_HEADERS, settle: () => undefined };

export function createAllowances(deps: {
  store: AllowanceStore;
  log: Logger;
  /** Milliseconds of a monotonic clock, independent of adjustments of the wall clock. */
  now?: () => number;
  /** The number of keys in memory; beyond it, idle ones are read again at their next request. */
  allowancesMax?: number;
}): Allowances {
  const { store, log, now = () => performance.now(), allowancesMax = ALLOWANCES_MAX } = deps;
  const allowances = new Map<string, Allowance>();
  const sharing = createSharing({ store, log, now, allowances });
  let timer: ReturnType<typeof setInterval> | undefined;

  /** A key and those that it replaces have one allowance, that of the first. */
  const find = ({ keyId, limits }: Limited, nowMs: number): Allowance => {
    const { predecessors: [name = keyId, ...others] = [] } = limits;
    const allowance = allowances.get(name) ?? newAllowance();
    allowance.askedAtMs = nowMs;
    allowance.hasBudget = limits.budget_per_month !== undefined;
    if (!allowance.keyIds.has(keyId))
      allowance.keyIds = new Set([...allowance.keyIds, name, ...others, keyId]);
    if (!allowances.has(name)) {
      allowances.set(name, allowance);
      if (allowances.size > allowancesMax) forgetIdle(nowMs);
    }
    return allowance;
  };
  const forgetIdle = (nowMs: number): void => {
    for (const [keyId, allowance] of allowances) {
      const isIdle = allowance.running === 0 && nowMs - allowance.askedAtMs > MINUTE_MS;
      if (isIdle && !hasNews(allowance, nowMs)) allowances.delete(keyId);
    }
  };

  const begin = (allowance: Allowance, limits: KeyLimits, estimate: Estimate): Reservation => {
    const reserved = admit(allowance, limits, { estimate, nowMs: now() });
    let isOpen = true;
    return {
      headers: () => describe(allowance, limits, now()),
      settle(used) {
        if (!isOpen) return;
        isOpen = false;
        settle(allowance, limits, { reserved, used, nowMs: now() });
      },
    };
  };

  return {
    async remaining(caller, at) {
      const { limits } = caller;
      if (!isLimited(limits)) return UNTOUCHED;
      const nowMs = now();
      const allowance = find(caller, nowMs);
      if (nowMs >= allowance.freshUntilMs) await sharing.refresh(allowance, nowMs);
      return remainingOf(allowance, limits, { nowMs: now(), at });
    },
    reserve(caller, estimate) {
      const { limits } = caller;
      if (!isLimited(limits)) return UNLIMITED;
      const nowMs = now();
      const allowance = find(caller, nowMs);
      if (nowMs < allowance.freshUntilMs) return begin(allowance, limits, estimate);
      return sharing.refresh(allowance, nowMs).then(() => begin(allowance, limits, estimate));
    },
    job: {
      name: 'gateway.allowances',
      start() {
        store.sweep().catch((error: unknown) => {
          log.warn({ err: error }, 'reservations of processes that have died cannot be deleted now');
        });
        timer = setInterval(() => void sharing.share(), ALLOWANCE_SYNC_MS);
      },
      async stop() {
        clearInterval(timer);
        await sharing.shareAll();
      },
      settle: sharing.shareAll,
    },
  };
}
