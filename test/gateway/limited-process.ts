// A process that limits keys, under the test's clock; and a store of one process alone.

import type { KeyLimits } from '../../src/core/principal.ts';
import type { Amount } from '../../src/gateway/allowance.ts';
import { createAllowances, NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import {
  type AllowanceStore,
  createAllowanceStore,
  type Shared,
  type Told,
} from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../support/database.ts';

export const MINUTE = 60_000;
export const START = Date.UTC(2026, 10, 30, 23, 50);

export class Clock {
  ms = START;
}

export const NOTHING_TOLD = {
  hasNews: false,
  requestsMs: 0,
  tokensMs: 0,
  month: 0,
  spent: 0,
  reserved: { tokensMs: 0, cost: 0 },
};

let readers = 0;
/** The identifier of a process that tells or asks once. */
export const nextReader = (): string => `reader-${++readers}`;

/** What a process learns that asks for the first time. */
export async function read(store: AllowanceStore, keyId: string): Promise<Shared> {
  const told = [{ ...NOTHING_TOLD, keyId }];
  const known = await store.share({ processId: nextReader(), number: 1, told, ageMs: 0, leaseMs: 1 });
  const shared = known?.get(keyId);
  if (shared === undefined) throw new Error('nothing is known of it');
  return shared;
}

export function limitedProcess(clock: Clock, store: AllowanceStore = memoryStore(clock)) {
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...given: unknown[]) => void warnings.push(given) };
  const allowances = createAllowances({ store, log, now: () => clock.ms });
  const begin = async (
    limits: KeyLimits,
    estimate: Amount,
    keyId = 'key',
  ): Promise<Reservation | OpenAiRefusal> => {
    try {
      return await allowances.reserve({ keyId, limits }, () => estimate);
    } catch (error) {
      if (error instanceof OpenAiRefusal) return error;
      throw error;
    }
  };
  return {
    allowances,
    warnings,
    begin,
    sync: async (): Promise<void> => allowances.job.settle?.(),
    /** The headers, or the refusal, of a request that uses nothing. */
    async ask(limits: KeyLimits, keyId = 'key'): Promise<Record<string, string> | OpenAiRefusal> {
      const begun = await begin(limits, NOTHING_USED, keyId);
      if (begun instanceof OpenAiRefusal) return begun;
      begun.settle(NOTHING_USED);
      return begun.headers();
    },
    /** A request that runs until the test settles it. */
    async run(limits: KeyLimits, estimate: Amount, keyId = 'key'): Promise<Reservation> {
      const begun = await begin(limits, estimate, keyId);
      if (begun instanceof OpenAiRefusal) throw begun;
      return begun;
    },
    async use(limits: KeyLimits, used: Amount, keyId = 'key'): Promise<void> {
      const begun = await begin(limits, NOTHING_USED, keyId);
      if (begun instanceof OpenAiRefusal) throw begun;
      begun.settle({ ...used, completionTokens: 0 });
    },
  };
}

export type LimitedProcess = ReturnType<typeof limitedProcess>;

export async function countAnswered(
  asked: LimitedProcess,
  limits: KeyLimits,
  times: number,
): Promise<number> {
  let answered = 0;
  for (let index = 0; index < times; index++)
    if (!((await asked.ask(limits)) instanceof OpenAiRefusal)) answered += 1;
  return answered;
}

export function refusalOf(answer: Record<string, string> | Reservation | OpenAiRefusal): OpenAiRefusal {
  if (answer instanceof OpenAiRefusal) return answer;
  throw new Error('it was not refused');
}

/** Two processes that share a database, their clock, and a key of their own. */
export function twoProcesses(sql: Sql) {
  const clock = new Clock();
  const store = createAllowanceStore(sql, { now: () => clock.ms });
  const keyId = `key-${++keys}`;
  const all = [limitedProcess(clock, store), limitedProcess(clock, store)] as const;
  return { clock, store, keyId, all, syncAll: () => Promise.all(all.map((each) => each.sync())) };
}

let keys = 0;

/** A fake store in memory, of one process alone: what it was told. */
export function memoryStore(
  clock: Clock,
): AllowanceStore & { of(keyId: string): Told['reserved'] & { spent: number } } {
  type Row = { requestsAt: number; tokensAt: number; spent: Map<number, number>; reserved: Told['reserved'] };
  const rows = new Map<string, Row>();
  const rowOf = (keyId: string): Row => {
    const row = rows.get(keyId) ?? {
      requestsAt: 0,
      tokensAt: 0,
      spent: new Map(),
      reserved: NOTHING_TOLD.reserved,
    };
    rows.set(keyId, row);
    return row;
  };
  const monthNow = (): number => {
    const at = new Date(clock.ms);
    return at.getUTCFullYear() * 100 + at.getUTCMonth() + 1;
  };
  return {
    recover: async () => undefined,
    sweep: async () => undefined,
    share: async ({ told, ageMs }) =>
      new Map(
        told.map(({ keyId, hasNews, requestsMs, tokensMs, month, spent, reserved }) => {
          const row = rowOf(keyId);
          row.requestsAt = Math.max(row.requestsAt, clock.ms - ageMs) + requestsMs;
          row.tokensAt = Math.max(row.tokensAt, clock.ms - ageMs) + tokensMs;
          row.spent.set(month, (row.spent.get(month) ?? 0) + spent);
          if (hasNews) row.reserved = reserved;
          const shared: Shared = {
            requestsMs: Math.max(0, row.requestsAt - clock.ms),
            tokensMs: Math.max(0, row.tokensAt - clock.ms),
            month: monthNow(),
            spent: row.spent.get(monthNow()) ?? 0,
            monthLeftMs:
              Date.UTC(new Date(clock.ms).getUTCFullYear(), new Date(clock.ms).getUTCMonth() + 1) - clock.ms,
            elsewhere: NOTHING_TOLD.reserved,
          };
          return [keyId, shared];
        }),
      ),
    of: (keyId) => ({ ...rowOf(keyId).reserved, spent: rowOf(keyId).spent.get(monthNow()) ?? 0 }),
  };
}
