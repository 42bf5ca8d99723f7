// The states of the backing services for /metrics. They are read at an interval, because a scrape must not wait for a service that hangs.

import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { gauge, type Metric } from './metrics.ts';
import { type Checked, type ReadinessCheck, runCheck } from './readiness.ts';

const INTERVAL_MS = 15_000;
/** A start is not held up by it. */
const DELAY_MS = 1000;
const STATES = ['ready', 'degraded', 'down'] as const;

export function createReadinessWatch(
  checks: readonly ReadinessCheck[],
  log: Logger,
): { job: Job; metrics: readonly Metric[] } {
  let latest: readonly Checked[] = [];
  const job = createPeriodic({
    name: 'service.readiness',
    intervalMs: INTERVAL_MS,
    delayMs: DELAY_MS,
    run: async () => {
      latest = await Promise.all(checks.map(runCheck));
    },
    log,
  });
  const metrics = [
    gauge(
      'atrium_backing_service_state',
      'State of each service of /readyz: 1 for the one it is in.',
      () =>
        latest.flatMap(({ name: service, state: { state } }) =>
          STATES.map((each) => ({ labels: { service, state: each }, value: each === state ? 1 : 0 })),
        ),
      'largest',
    ),
  ];
  return { job, metrics };
}
