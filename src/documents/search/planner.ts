// Which engine answers. Meilisearch where it can do so exactly, in time and sooner than Postgres, which answers otherwise: a
// caller notices neither an outage nor a slow server. A query is prepared once, for both.

import { type Choice, createChoice } from '../../core/choice.ts';
import { createCircuitBreaker } from '../../core/circuit-breaker.ts';
import type { Logger } from '../../core/logger.ts';
import { within } from '../../core/wait.ts';
import type { MeilisearchSearch } from './meilisearch/index.ts';
import type { PostgresSearch } from './postgres/index.ts';
import type { Prepared } from './postgres/prepared.ts';
import type { SearchPage, SearchQuery } from './query.ts';

type Engine = 'meilisearch' | 'postgres';
export type Answered = SearchPage & { engine: Engine };
type Outcome = Answered | 'declined' | 'failed';

export type SearchPlanner = ReturnType<typeof createSearchPlanner>;

/** After this long, or twice as long as Meilisearch takes of late, Postgres is asked too, and the first to answer is heard. */
const HEDGE_MS = 40;
/** Times that, where words are ranked: a page of Postgres is one of another ranking. */
const RANKED_PATIENCE = 4;
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
  hedgeMs?: number;
  choice?: Choice<Engine>;
}) {
  const { postgres, meilisearch, log, now = () => performance.now(), hedgeMs = HEDGE_MS } = deps;
  const choice = deps.choice ?? createChoice<Engine>('meilisearch', 'postgres');
  const circuit = createCircuitBreaker({ ...CIRCUIT, now });
  let inFlight = 0;
  /** Searches wait for each other: what one costs is its part of the time of all that run beside it. */
  let running = 0;

  const byPostgres = async (prepared: Prepared, kind?: string): Promise<Answered> => {
    const [startedAt, beside] = [now(), running];
    const page = await postgres.search(prepared);
    if (kind !== undefined) choice.learn(kind, 'postgres', (now() - startedAt) / beside);
    return { ...page, engine: 'postgres' };
  };

  const byMeilisearch = async (prepared: Prepared, signal: AbortSignal): Promise<Outcome> => {
    inFlight += 1;
    circuit.begin();
    try {
      const page = await meilisearch?.search(prepared, signal);
      if (page === undefined) circuit.forget();
      else {
        if (circuit.state() !== 'closed') log.info({}, 'the search server answers searches again');
        circuit.succeed();
      }
      return page === undefined ? 'declined' : { ...page, engine: 'meilisearch' };
    } catch (error) {
      const wasClosed = circuit.state() === 'closed';
      circuit.fail();
      if (wasClosed && circuit.state() === 'open')
        log.warn({ err: error }, 'the search server fails or is slow: Postgres answers searches alone');
      return 'failed';
    } finally {
      inFlight -= 1;
    }
  };

  /** By Postgres, too, where Meilisearch declines, fails, or is late. Failures are for the circuit breaker to judge. */
  const byBoth = async (prepared: Prepared, kind: string): Promise<Answered> => {
    const [startedAt, beside] = [now(), running];
    const patience = prepared.query.text === undefined ? 1 : RANKED_PATIENCE;
    const lateMs = patience * Math.max(hedgeMs, 2 * beside * (choice.figure(kind, 'meilisearch') ?? 0));
    const giveUp = new AbortController();
    const deadline = setTimeout(() => giveUp.abort(), DEADLINE_MS);
    const mirrored = byMeilisearch(prepared, giveUp.signal).finally(() => clearTimeout(deadline));
    let answered = await within(mirrored, lateMs, () => 'late' as const);
    if (typeof answered !== 'object') {
      const certain = byPostgres(prepared, kind);
      if (answered === 'failed') return certain;
      answered = await Promise.race([
        mirrored.then((page) => (typeof page === 'object' ? page : certain)),
        certain,
      ]);
      giveUp.abort();
      // The answer that is no longer awaited may still fail.
      certain.catch(() => undefined);
    }
    choice.learn(kind, 'meilisearch', (now() - startedAt) / beside);
    return answered;
  };

  return {
    /** Whether a search may ask Meilisearch; after failures as soon as the cooldown is over, even if no search has come since. */
    usesMirror: () => meilisearch !== undefined && circuit.state() !== 'open',
    async search(query: SearchQuery): Promise<Answered> {
      const prepared = await postgres.prepare(query);
      const alone = meilisearch === undefined || prepared.size === 'small';
      if (alone || inFlight >= IN_FLIGHT_MAX || !circuit.allows()) return byPostgres(prepared);
      const kind = kindOf(prepared);
      // Each engine ranks words in its own way. All pages of a search should come from one, so that here the size of the workspace decides alone.
      const search = query.text === undefined && choice.of(kind) === 'postgres' ? byPostgres : byBoth;
      running += 1;
      return search(prepared, kind).finally(() => {
        running -= 1;
      });
    },
  };
}

/** Searches that cost about the same: of the same documents, with conditions, an order and a page of the same kind. As a digest: callers name many. */
function kindOf({ place, query }: Prepared): string {
  const { predicates, order, text, offset, limit } = query;
  const tests = predicates.map(({ attribute, test, negated }) => `${attribute} ${test.kind} ${negated}`);
  const orders = order.map(({ attribute, descending }) => `${attribute} ${descending}`);
  return `${Bun.hash([place, text !== undefined, offset > 0, limit, ...tests, ...orders].join())}`;
}
