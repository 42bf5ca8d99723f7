// Exchanges the use and the reservations of limited keys among the processes, in numbered batches, one at a time. Each
// batch is sent until it is answered. A batch that is sent twice, or whose answer is lost, counts once.

import { unavailable } from '../core/errors.ts';
import { newRandomId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { endsWithin } from '../core/wait.ts';
import { withDeadline } from '../infra/postgres/client.ts';
import { type Allowance, isUsed } from './allowance.ts';
import {
  ALLOWANCE_ANSWER_MS,
  ALLOWANCE_FRESH_MS,
  ALLOWANCE_IDLE_MS,
  ALLOWANCE_LEASE_MS,
  ALLOWANCE_LOAD_MS,
  ALLOWANCE_RECOVER_MS,
  ALLOWANCE_RETRY_MS,
} from './limits.ts';
import type { AllowanceStore, Shared, Told } from './store/allowances.ts';

export type Sharing = {
  /** Sends the pending use, and receives the totals of all processes. Joins a call in progress. False: it failed. */
  share(): Promise<boolean>;
  /** Repeats until nothing is pending, or a call fails. */
  shareAll(): Promise<void>;
  /**
   * Resolves when what is known is fresh, or was asked for at `sinceMs` or later. Rejects with 503 where it cannot be had in time.
   */
  refresh(allowance: Allowance, sinceMs: number): Promise<void>;
};

type Entry = { allowance: Allowance; told: Told };

type Pending = { number: number; atMs: number; sinceMs: number; entries: readonly Entry[] };

export function createSharing(deps: {
  store: AllowanceStore;
  log: Logger;
  now: () => number;
  allowances: ReadonlyMap<string, Allowance>;
}): Sharing {
  const { store, log, now, allowances } = deps;
  const processId = newRandomId();
  let batches = 0;
  /** Sent, and not known to be counted. */
  let pending: Pending | undefined;
  let running: Promise<boolean> | undefined;
  let away = false;

  /** Keys that were used recently or have pending changes; undefined if there are none. */
  const nextBatch = (atMs: number): Pending | undefined => {
    const entries: Entry[] = [];
    let sinceMs = atMs;
    for (const [keyId, allowance] of allowances) {
      const news = hasNews(allowance, atMs);
      if (!news && atMs - allowance.askedAtMs > ALLOWANCE_IDLE_MS) continue;
      const { month, unsynced, unsyncedSinceMs, reserved } = allowance;
      if (news) sinceMs = Math.min(sinceMs, unsyncedSinceMs);
      entries.push({
        allowance,
        told: { keyId, hasNews: news, month, ...unsynced, reserved: { ...reserved } },
      });
    }
    if (entries.length === 0) return undefined;
    batches += 1;
    return { number: batches, atMs, sinceMs, entries };
  };
  /** The unreported use of a process that died is only in the accounts. */
  const recover = async (entries: readonly Entry[]): Promise<void> => {
    const nowMs = now();
    const due = entries.filter(
      ({ allowance }) => allowance.hasBudget && nowMs - allowance.recoveredAtMs >= ALLOWANCE_RECOVER_MS,
    );
    if (due.length === 0) return;
    await store.recover(due.map(({ told, allowance }) => ({ keyId: told.keyId, of: [...allowance.keyIds] })));
    for (const { allowance } of due) allowance.recoveredAtMs = nowMs;
  };
  const send = async (): Promise<void> => {
    pending ??= nextBatch(now());
    if (pending === undefined) return;
    const sent = pending;
    const { number, atMs, sinceMs, entries } = sent;
    await recover(entries);
    const sentAtMs = now();
    const known = await store.share({
      processId,
      number,
      ageMs: sentAtMs - sinceMs,
      leaseMs: ALLOWANCE_LEASE_MS,
      told: entries.map(({ told }) => told),
    });
    // An answer that came late has done it.
    if (pending !== sent) return;
    pending = undefined;
    for (const { allowance, told } of entries) {
      acknowledge(allowance, told, atMs);
      const shared = known?.get(told.keyId);
      if (shared !== undefined) merge(allowance, shared, sentAtMs);
    }
  };
  const share = (): Promise<boolean> => {
    running ??= withDeadline(send(), ALLOWANCE_ANSWER_MS).then(
      () => {
        away = false;
        running = undefined;
        return true;
      },
      (error: unknown) => {
        if (!away)
          log.warn(
            { err: error },
            'limits of keys cannot be shared now; requests of limited keys are refused',
          );
        away = true;
        running = undefined;
        return false;
      },
    );
    return running;
  };

  return {
    share,
    async shareAll() {
      const isLeft = (): boolean => {
        const nowMs = now();
        return pending !== undefined || allowances.values().some((allowance) => hasNews(allowance, nowMs));
      };
      // A synchronisation that is under way may have begun before this moment.
      await running;
      do if (!(await share())) return;
      while (isLeft());
    },
    async refresh(allowance, sinceMs) {
      const isKnown = (): boolean => allowance.knownAtMs >= sinceMs || now() < allowance.freshUntilMs;
      let hasLeft = false;
      const asking = async (): Promise<void> => {
        while (!isKnown() && !hasLeft) if (!(await share())) await Bun.sleep(ALLOWANCE_RETRY_MS);
      };
      if (await endsWithin(asking(), ALLOWANCE_LOAD_MS)) return;
      hasLeft = true;
      throw unavailable('What the API key has used of its limits cannot be looked up at the moment');
    },
  };
}

/** There are changes to report. Reservations are renewed in time, so that they stay valid. */
export function hasNews({ unsynced, reserved, told }: Allowance, nowMs: number): boolean {
  if (isUsed(unsynced)) return true;
  if (reserved.tokensMs !== told.tokensMs || reserved.cost !== told.cost) return true;
  const isReserved = reserved.tokensMs > 0 || reserved.cost > 0;
  return isReserved && nowMs - told.atMs > ALLOWANCE_LEASE_MS / 2;
}

/** The batch that was prepared at `atMs` has been counted, now or by an earlier call whose answer was lost. */
function acknowledge(allowance: Allowance, sent: Told, atMs: number): void {
  const { unsynced } = allowance;
  unsynced.requestsMs -= sent.requestsMs;
  unsynced.tokensMs -= sent.tokensMs;
  unsynced.spent -= sent.spent;
  allowance.unsyncedSinceMs = Math.max(allowance.unsyncedSinceMs, atMs);
  if (sent.hasNews) allowance.told = { ...sent.reserved, atMs };
}

/** The totals of all processes, requested at `sentAtMs`, plus the use in this process since then. */
function merge(allowance: Allowance, shared: Shared, sentAtMs: number): void {
  const { unsynced } = allowance;
  allowance.requestsAt = sentAtMs + shared.requestsMs + unsynced.requestsMs;
  allowance.tokensAt = sentAtMs + shared.tokensMs + unsynced.tokensMs;
  allowance.month = shared.month;
  allowance.spent = shared.spent + unsynced.spent;
  allowance.elsewhere = shared.elsewhere;
  allowance.knownAtMs = sentAtMs;
  allowance.freshUntilMs = sentAtMs + Math.min(ALLOWANCE_FRESH_MS, shared.monthLeftMs);
}
