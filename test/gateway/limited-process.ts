// Processes that limit keys, under the test's clock: alone, or several on one database.

import type { KeyLimits } from '../../src/core/principal.ts';
import type { Amount, Others, Report } from '../../src/gateway/allowance.ts';
import { Allowances, NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import { type AllowanceStore, createAllowanceStore } from '../../src/gateway/store/allowances.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../support/database.ts';

export const MINUTE = 60_000;
export const START = Date.UTC(2026, 10, 30, 23, 50);

export class Clock {
  ms = START;
}

/** What another process learns that knows nothing yet. */
export async function read(store: AllowanceStore, keyId: string): Promise<Others> {
  const report: Report = {
    counterId: 'reader',
    month: 0,
    requestsMs: 0,
    tokensMs: 0,
    spent: 0,
    reserved: { tokensMs: 0, cost: 0 },
    requestsLeftMs: 0,
    tokensLeftMs: 0,
  };
  const known = await store.exchange([{ keyId, hasNews: false, recordsOf: null, report }]);
  const others = known.get(keyId);
  if (others === undefined) throw new Error('nothing is known of it');
  return others;
}

/** A request that runs. */
export type Running = Pick<Reservation, 'headers' | 'settle'>;

const UNLIMITED: Running = { headers: () => ({}), settle: () => undefined };

export function limitedProcess(clock: Clock, store: AllowanceStore = aloneStore(clock)) {
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...given: unknown[]) => void warnings.push(given) };
  const allowances = new Allowances({ store, log, now: () => clock.ms });
  const begin = async (
    limits: KeyLimits,
    estimate: Amount,
    keyId = 'key',
  ): Promise<Running | OpenAiRefusal> => {
    try {
      return (await allowances.reserve({ keyId, limits }, () => estimate)) ?? UNLIMITED;
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
    async run(limits: KeyLimits, estimate: Amount, keyId = 'key'): Promise<Running> {
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

export function refusalOf(answer: Record<string, string> | Running | OpenAiRefusal): OpenAiRefusal {
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

/** A fake store of one process alone, which remembers what it was told last. */
export function aloneStore(clock: Clock): AllowanceStore & { reports: Map<string, Report> } {
  const reports = new Map<string, Report>();
  return {
    reports,
    sweep: async () => undefined,
    async exchange(sent) {
      for (const { keyId, report } of sent) reports.set(keyId, report);
      const at = new Date(clock.ms);
      const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
      const others: Others = {
        month: 100 * year + month + 1,
        monthLeftMs: Date.UTC(year, month + 1) - clock.ms,
        requestsMs: 0,
        tokensMs: 0,
        spent: 0,
        reserved: { tokensMs: 0, cost: 0 },
        requestsLeftMs: 0,
        tokensLeftMs: 0,
        recorded: null,
      };
      return new Map(sent.map(({ keyId }) => [keyId, others]));
    },
  };
}
