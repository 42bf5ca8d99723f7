// How the models do: for /readyz and /metrics.

import { counter, gauge, type Histogram, histogram, type Metric } from '../http/metrics.ts';
import type { ReadinessCheck } from '../http/readiness.ts';
import type { UsageRecords } from './accounting/usage-records.ts';
import type { AnswerCache } from './cache.ts';
import type { CatalogueKeeper } from './catalogue/current.ts';
import type { AttemptCounts } from './execute.ts';
import type { Target } from './targets.ts';

/** The bounds that the semantic conventions advise for `gen_ai.server.time_to_first_token`, and two for models that think. */
const FIRST_TOKEN_BOUNDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60,
];

export const createFirstTokenMetric = (): Histogram =>
  histogram(
    'atrium_model_time_to_first_token_seconds',
    'Time from the request to the first event of a stream, by the target that answered.',
    FIRST_TOKEN_BOUNDS,
  );

export function createGatewayHealth(parts: {
  catalogue: Pick<CatalogueKeeper, 'state'>;
  targets: () => Iterable<Target>;
  cache: Pick<AnswerCache, 'metrics'>;
  records: Pick<UsageRecords, 'delayed'>;
  attempts: AttemptCounts;
  firstToken: Metric;
}): { check: ReadinessCheck; metrics: Metric[] } {
  const { catalogue, targets, cache, records, attempts, firstToken } = parts;
  const upstreams = () =>
    new Set([...targets()].map(({ upstream }) => upstream).filter((each) => each !== undefined));

  return {
    check: {
      name: 'models',
      essential: false,
      async check() {
        if (records.delayed > 0) {
          const detail = `${records.delayed} usage records wait in memory, because the event buffer does not accept them`;
          return { state: 'degraded', detail };
        }
        const open = [...targets()]
          .filter(({ circuit }) => circuit.state() !== 'closed')
          .map(({ name }) => name);
        const state = catalogue.state();
        if (state.state === 'degraded' || open.length === 0) return state;
        return { state: 'degraded', detail: `these fail and are left alone for a while: ${open.join(', ')}` };
      },
    },
    metrics: [
      counter('atrium_model_attempts_total', 'Calls of upstreams, by target and outcome.', () =>
        [...attempts].flatMap(([target, outcomes]) =>
          Object.entries(outcomes).map(([outcome, value]) => ({ labels: { target, outcome }, value })),
        ),
      ),
      firstToken,
      gauge(
        'atrium_model_circuit_open',
        'Whether a target is left alone because it fails.',
        () =>
          [...targets()].map(({ name, circuit }) => ({
            labels: { target: name },
            value: circuit.state() === 'closed' ? 0 : 1,
          })),
        'largest',
      ),
      gauge(
        'atrium_model_requests_running',
        'Calls that an upstream is answering, and those that wait for their turn.',
        () =>
          [...upstreams()].flatMap(({ spec, permits }) =>
            Object.entries(permits.metrics()).map(([state, value]) => ({
              labels: { upstream: spec.name, state },
              value,
            })),
          ),
      ),
      gauge('atrium_model_cache_bytes', 'Answers that are kept.', () => cache.metrics().bytes),
      counter(
        'atrium_model_cache_requests_total',
        'Requests that could be answered from what is kept, by whether they were.',
        () => {
          const { hits, misses } = cache.metrics();
          return [
            { labels: { outcome: 'hit' }, value: hits },
            { labels: { outcome: 'miss' }, value: misses },
          ];
        },
      ),
    ],
  };
}
