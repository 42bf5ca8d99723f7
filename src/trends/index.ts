// Measures in the course of time, which the portal's first page draws: the storage of each workspace by day, and what waits in
// the service by hour. They are taken in the background, so that no page counts rows.

import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { exclusively } from '../infra/postgres/exclusive.ts';
import { trendsRoutes } from './routes.ts';
import { createTrendStore, DAY_MS, firstDayShown, type Measure, SERVICE, startOf } from './store.ts';

const INTERVAL_MS = 10_000;
/** The storage is measured again after a pause of so many times what the last measurement took. */
const PAUSE_FACTOR = 500;

export type MeasuredStorage = { workspaceId: string; documents: number; bytes: number };

export type TrendsDeps = {
  sql: Sql;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  /** Reads every document. */
  measureStorage(): Promise<MeasuredStorage[]>;
  /** Packs of events and events of the outbox that wait. */
  eventsWaiting(): number;
  jobsWaiting(): Promise<number>;
  clock: Clock;
  log: Logger;
};

export function createTrends(deps: TrendsDeps) {
  const { sql, clock, log } = deps;
  const store = createTrendStore(sql);
  let measuresAtMs = Number.NEGATIVE_INFINITY;
  let stored: readonly string[] = [];

  const keepStorage = async (): Promise<void> => {
    if (performance.now() < measuresAtMs) return;
    const startedAtMs = performance.now();
    const measured = await deps.measureStorage();
    const tookMs = performance.now() - startedAtMs;
    measuresAtMs = startedAtMs + tookMs * PAUSE_FACTOR;
    const workspaces = new Set(measured.map(({ workspaceId }) => workspaceId));
    const emptied = stored.filter((workspaceId) => !workspaces.has(workspaceId));
    stored = [...workspaces];
    const all = [...measured, ...emptied.map((workspaceId) => ({ workspaceId, documents: 0, bytes: 0 }))];
    const measures = all.flatMap(({ workspaceId, documents, bytes }): Measure[] => [
      { workspaceId, name: 'documents', value: documents },
      { workspaceId, name: 'bytes', value: bytes },
    ]);
    await store.keepLast(measures, startOf(clock.now(), DAY_MS));
    await store.forgetBefore(firstDayShown(clock));
  };
  const keepBacklog = async (): Promise<void> => {
    const measures: Measure[] = [
      { workspaceId: SERVICE, name: 'events_waiting', value: deps.eventsWaiting() },
      { workspaceId: SERVICE, name: 'jobs_waiting', value: await deps.jobsWaiting() },
    ];
    await store.keepGreatest(measures, startOf(clock.now(), DAY_MS / 24));
  };
  return {
    routes: (http) => trendsRoutes(http, { store, ...deps }),
    jobs: [
      createPeriodic({
        name: 'trends',
        intervalMs: INTERVAL_MS,
        async run() {
          await keepBacklog();
          await exclusively(sql, 'trends', keepStorage);
        },
        log,
      }),
    ],
    checks: [],
    metrics: [],
  } satisfies AreaWithRoutes;
}
