// How the models do: for /readyz and /metrics.

import { counter, gauge, type Histogram, histogram, type Metric } from '../http/metrics.ts';
import type { ReadinessCheck } from '../http/readiness.ts';
import type { UsageRecords } from './accounting/usage-records.ts';
import type { AnswerCache } from './cache.ts';
import type { CatalogueKeeper } from './catalogue/current.ts';
import type { Targets } from './targets.ts';

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

export const createModelsCheck = (
  catalogue: CatalogueKeeper,
  targets: Targets,
  records: UsageRecords,
): ReadinessCheck => ({
  name: 'models',
  essential: false,
  async check() {
    if (records.delayed > 0) {
      const detail = `${records.delayed} usage records wait in memory, because the event buffer does not accept them`;
      return { state: 'degraded', detail };
    }
    const open = targets.all().filter(({ circuit }) => circuit.state() !== 'closed');
    const state = catalogue.state();
    if (state.state === 'degraded' || open.length === 0) return state;
    const names = open.map(({ name }) => name).join(', ');
    return { state: 'degraded', detail: `these fail and are left alone for a while: ${names}` };
  },
});

export const createModelMetrics = (targets: Targets, cache: AnswerCache): Metric[] => [
  counter('atrium_model_attempts_total', 'Calls of upstreams, by target and outcome.', () =>
    targets
      .all()
      .flatMap(({ name: target, attempts }) =>
        Object.entries(attempts).map(([outcome, value]) => ({ labels: { target, outcome }, value })),
      ),
  ),
  gauge(
    'atrium_model_circuit_open',
    'Whether a target is left alone because it fails.',
    () =>
      targets.all().map(({ name, circuit }) => ({
        labels: { target: name },
        value: circuit.state() === 'closed' ? 0 : 1,
      })),
    'largest',
  ),
  gauge(
    'atrium_model_requests_running',
    'Calls that an upstream is answering, and those that wait for their turn.',
    () => {
      const upstreams = new Set(targets.all().flatMap(({ upstream }) => upstream ?? []));
      return [...upstreams].flatMap(({ spec, permits }) =>
        Object.entries(permits.metrics()).map(([state, value]) => ({
          labels: { upstream: spec.name, state },
          value,
        })),
      );
    },
  ),
  gauge('atrium_model_cache_bytes', 'Answers that are kept.', () => cache.sizeBytes),
  counter(
    'atrium_model_cache_requests_total',
    'Requests that could be answered from what is kept, by whether they were.',
    () => [
      { labels: { outcome: 'hit' }, value: cache.hits },
      { labels: { outcome: 'miss' }, value: cache.misses },
    ],
  ),
];
