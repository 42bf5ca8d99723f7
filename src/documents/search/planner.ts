// Which engine answers. Meilisearch where it can do so exactly and in time, Postgres otherwise: a caller
// notices neither an outage nor a slow server. A query is prepared once, for both.

import { createCircuitBreaker } from '../../core/circuit-breaker.ts';
import type { Logger } from '../../core/logger.ts';
import { within } from '../../core/wait.ts';
import type { MeilisearchSearch } from './meilisearch/index.ts';
import type { PostgresSearch } from './postgres/index.ts';
import type { Prepared } from './postgres/prepared.ts';
import type { SearchPage, SearchQuery } from './query.ts';

export type Answered = SearchPage & { engine: 'postgres' | 'meilisearch' };

export type SearchPlanner = ReturnType<typeof createSearchPlanner>;

/** After this long Postgres is asked too, and the first to answer is heard: many times what Meilisearch takes. */
const HEDGE_MS = 40;
/** No search waits longer for Meilisearch, whatever Postgres does. */
const DEADLINE_MS = 2000;
/** Searches that Meilisearch answers at once; more would only queue there. */
const IN_FLIGHT_MAX = 64;
/** Failures in a row after which it is left alone for a while. */
const CIRCUIT = { failuresMax: 5, openMsMin: 1000, openMsMax: 30_000 };

export function createSearchPlanner(deps: {
  postgres: Pick<PostgresSearch, 'prepare' | 'search'>;
  meilisearch: MeilisearchSearch | undefined;
  log: Logger;
  now?: () => number;
}) {
  const { postgres, meilisearch, log, now = () => performance.now() } = deps;
  const circuit = createCircuitBreaker({ ...CIRCUIT, now });
  let inFlight = 0;

  const byPostgres = async (prepared: Prepared): Promise<Answered> => ({
    ...(await postgres.search(prepared)),
    engine: 'postgres',
  });

  /** Undefined when Meilisearch declines or fails. */
  const byMeilisearch = async (prepared: Prepared, signal: AbortSignal): Promise<Answered | undefined> => {
    inFlight += 1;
    circuit.begin();
    try {
      const page = await meilisearch?.search(prepared, signal);
      if (page === undefined) circuit.forget();
      else {
        if (circuit.state() !== 'closed') log.info({}, 'the search server answers searches again');
        circuit.succeed();
      }
      return page && { ...page, engine: 'meilisearch' };
    } catch (error) {
      const wasClosed = circuit.state() === 'closed';
      circuit.fail();
      if (wasClosed && circuit.state() === 'open')
        log.warn({ err: error }, 'the search server fails or is slow: Postgres answers searches alone');
      return undefined;
    } finally {
      inFlight -= 1;
    }
  };

  return {
    /**
     * Whether the next search asks Meilisearch. After failures it does as soon as the cooldown is over. Otherwise a service without searches
     * would say that it is degraded until the next one comes.
     */
    usesMirror: () => meilisearch !== undefined && circuit.state() !== 'open',
    async search(query: SearchQuery): Promise<Answered> {
      const prepared = await postgres.prepare(query);
      if (meilisearch === undefined || inFlight >= IN_FLIGHT_MAX || !circuit.allows())
        return byPostgres(prepared);
      const giveUp = new AbortController();
      const deadline = setTimeout(() => giveUp.abort(), DEADLINE_MS);
      const mirrored = byMeilisearch(prepared, giveUp.signal).finally(() => clearTimeout(deadline));
      const first = await within(mirrored, HEDGE_MS, (): typeof LATE => LATE);
      if (first !== LATE) return first ?? byPostgres(prepared);
      const certain = byPostgres(prepared);
      const answered = await Promise.race([mirrored.then((page) => page ?? certain), certain]);
      giveUp.abort();
      // The answer that is no longer awaited may still fail.
      certain.catch(() => undefined);
      return answered;
    },
  };
}

/** Postgres is asked, too. */
const LATE = 'late';
