// Limits of keys: requests and tokens a minute, money a month. Counted in memory, so that a request waits for nothing;
// the processes tell one another a few times a second what was used and what is reserved. docs/decisions/007 says why so.

import { newRandomId } from '../core/ids.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyLimits } from '../core/principal.ts';
import {
  type Allowance,
  admit,
  describe,
  type Estimate,
  isUnlimited,
  MINUTE_MS,
  monthOf,
  newAllowance,
  type Settled,
  settle,
} from './allowance.ts';
import { ALLOWANCE_LEASE_MS, ALLOWANCE_LOAD_MS, ALLOWANCE_SYNC_MS, ALLOWANCES_MAX } from './limits.ts';
import type { AllowanceStore, Increase, Shared } from './store/allowances.ts';

export type Limited = { keyId: string; limits: KeyLimits };

/** What a request that runs may use. It must be settled once, however the request ends; later calls do nothing. */
export type Reservation = {
  /** The `x-ratelimit-*` headers as they are now. */
  headers(): Record<string, string>;
  /** Gives it back and counts what was used instead. */
  settle(used: Settled): void;
};

export type Allowances = {
  /**
   * Counts a request and reserves what it may use. Throws 429 when a limit is reached. A promise only the first time that
   * a key is seen; without limits nothing is estimated and nothing is counted.
   */
  reserve(caller: Limited, estimate: Estimate): Reservation | Promise<Reservation>;
  job: Job;
};

export const NOTHING_USED: Settled = { tokens: 0, completionTokens: 0, cost: 0 };

const NO_HEADERS: Record<string, string> = {};
const UNLIMITED: Reservation = { headers: () => NO_HEADERS, settle: () => undefined };

export function createAllowances(deps: {
  store: AllowanceStore;
  log: Logger;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Keys whose allowances are remembered; of more, the idle ones are read again when they are asked for. */
  allowancesMax?: number;
}): Allowances {
  const { store, log, now = Date.now, allowancesMax = ALLOWANCES_MAX } = deps;
  const processId = newRandomId();
  const allowances = new Map<string, Allowance>();
  const loading = new Map<string, Promise<Allowance>>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let syncing: Promise<void> | undefined;
  let away = false;

  /** What others have used and reserved comes with it; while the database is away, each process counts alone. */
  const load = async (keyId: string): Promise<Allowance> => {
    const found = await Promise.race([
      store.find(keyId, now()).catch(() => undefined),
      Bun.sleep(ALLOWANCE_LOAD_MS).then(() => undefined),
    ]);
    const nowMs = now();
    const allowance = newAllowance(
      found?.used ?? { requestsAt: 0, tokensAt: 0, month: monthOf(nowMs), spent: 0 },
      nowMs,
    );
    if (found !== undefined)
      allowance.elsewhere = { ...found.elsewhere, untilMs: nowMs + ALLOWANCE_LEASE_MS };
    allowances.set(keyId, allowance);
    loading.delete(keyId);
    if (allowances.size > allowancesMax) forgetIdle();
    return allowance;
  };
  const forgetIdle = (): void => {
    const nowMs = now();
    for (const [keyId, allowance] of allowances) {
      const isIdle = allowance.running === 0 && nowMs - allowance.askedAtMs > MINUTE_MS;
      if (isIdle && !isToBeTold(allowance, nowMs)) allowances.delete(keyId);
    }
  };

  const sync = async (): Promise<void> => {
    const nowMs = now();
    const toldOf = [...allowances].filter(([, allowance]) => isToBeTold(allowance, nowMs));
    if (toldOf.length === 0) return;
    const sent = toldOf.map(([keyId, { month, untold, reserved }]) => ({
      ...{ keyId, month, ...untold },
      reserved,
    }));
    const known = await store.share({ processId, increases: sent, nowMs, leaseMs: ALLOWANCE_LEASE_MS });
    for (const [index, [keyId, allowance]] of toldOf.entries()) {
      const increase = sent[index];
      const shared = known.get(keyId);
      if (increase !== undefined && shared !== undefined) merge(allowance, increase, { shared, nowMs });
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

  const reserve = (allowance: Allowance, limits: KeyLimits, estimate: Estimate): Reservation => {
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
    reserve({ keyId, limits }, estimate) {
      if (isUnlimited(limits)) return UNLIMITED;
      const known = allowances.get(keyId);
      if (known !== undefined) return reserve(known, limits, estimate);
      const coming = loading.get(keyId) ?? load(keyId);
      loading.set(keyId, coming);
      return coming.then((loaded) => reserve(loaded, limits, estimate));
    },
    job: {
      name: 'gateway.allowances',
      start() {
        store.sweep(now()).catch((error: unknown) => {
          log.warn({ err: error }, 'reservations of processes that have died cannot be deleted now');
        });
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

/** Others need to know something, or something of theirs may have changed that keeps this key from being answered. */
function isToBeTold({ untold, reserved, told, elsewhere }: Allowance, nowMs: number): boolean {
  if (untold.requestsMs > 0 || untold.tokensMs > 0 || untold.spent > 0) return true;
  if (reserved.tokensMs !== told.tokensMs || reserved.cost !== told.cost) return true;
  if (elsewhere.tokensMs > 0 || elsewhere.cost > 0) return true;
  const isReserved = reserved.tokensMs > 0 || reserved.cost > 0;
  return isReserved && nowMs - told.atMs > ALLOWANCE_LEASE_MS / 2;
}

/** What all have used, and on top of it what was used here while it was being told. */
function merge(
  allowance: Allowance,
  sent: Increase,
  { shared: { used, elsewhere }, nowMs }: { shared: Shared; nowMs: number },
): void {
  const { untold } = allowance;
  untold.requestsMs -= sent.requestsMs;
  untold.tokensMs -= sent.tokensMs;
  allowance.requestsAt = used.requestsAt + untold.requestsMs;
  allowance.tokensAt = used.tokensAt + untold.tokensMs;
  // What was told is of a month that may be over.
  if (allowance.month === sent.month) untold.spent -= sent.spent;
  if (allowance.month === used.month) allowance.spent = used.spent + untold.spent;
  allowance.told = { ...sent.reserved, atMs: nowMs };
  allowance.elsewhere = { ...elsewhere, untilMs: nowMs + ALLOWANCE_LEASE_MS };
}
