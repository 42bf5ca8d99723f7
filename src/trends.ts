// Measures in the course of time, which the portal's first page draws: the storage of each workspace by day, and what waits in
// the service by hour. They are taken in the background, so that no page counts rows.

import { Type } from '@sinclair/typebox';
import type { Clock } from './core/clock.ts';
import type { Logger } from './core/logger.ts';
import { createPeriodic } from './core/periodic.ts';
import type { Area } from './http/area.ts';
import { type Route, route } from './http/operation.ts';
import { component, moment, WorkspacePath } from './http/schemas.ts';
import type { Sql } from './infra/postgres/client.ts';
import { exclusively } from './infra/postgres/exclusive.ts';

const INTERVAL_MS = 10_000;
/** The storage is measured again after a pause of so many times what the last measurement took. */
const PAUSE_FACTOR = 500;
const DAYS_SHOWN = 30;
const DAY_MS = 86_400_000;

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

type Name = 'documents' | 'bytes' | 'events_waiting' | 'jobs_waiting';
type Measure = { workspaceId: string; name: Name; value: number };

const SERVICE = '';

export function createTrends(deps: TrendsDeps): Area {
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
    await store.forgetBefore(firstDay(clock));
  };
  const keepBacklog = async (): Promise<void> => {
    const measures: Measure[] = [
      { workspaceId: SERVICE, name: 'events_waiting', value: deps.eventsWaiting() },
      { workspaceId: SERVICE, name: 'jobs_waiting', value: await deps.jobsWaiting() },
    ];
    await store.keepGreatest(measures, startOf(clock.now(), DAY_MS / 24));
  };
  return {
    routes: [trendsRoute(store, deps)],
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
  };
}

const startOf = (time: Date, sizeMs: number): Date => new Date(Math.floor(time.getTime() / sizeMs) * sizeMs);

/** Of those that are shown. */
const firstDay = (clock: Clock): Date =>
  startOf(new Date(clock.now().getTime() - (DAYS_SHOWN - 1) * DAY_MS), DAY_MS);

function createTrendStore(sql: Sql) {
  const rows = (measures: readonly Measure[], at: Date) => sql`
    INSERT INTO trends AS t (workspace_id, name, at, value)
    SELECT workspace_id, name, ${at}, value FROM unnest(
      ${measures.map(({ workspaceId }) => workspaceId)}::text[], ${measures.map(({ name }) => name)}::text[],
      ${measures.map(({ value }) => value)}::float8[]) AS measured (workspace_id, name, value)
    ORDER BY 1, 2 ON CONFLICT (workspace_id, name, at)`;
  return {
    async keepLast(measures: readonly Measure[], at: Date): Promise<void> {
      await sql`${rows(measures, at)} DO UPDATE SET value = excluded.value WHERE t.value <> excluded.value`;
    },
    async keepGreatest(measures: readonly Measure[], at: Date): Promise<void> {
      await sql`${rows(measures, at)} DO UPDATE SET value = excluded.value WHERE t.value < excluded.value`;
    },
    async forgetBefore(at: Date): Promise<void> {
      await sql`DELETE FROM trends WHERE at < ${at}`;
    },
    read: (workspaceId: string, since: Date): Promise<{ name: Name; at: Date; value: number }[]> =>
      sql`SELECT name, at AT TIME ZONE 'UTC' AS at, value FROM trends
        WHERE workspace_id IN (${workspaceId}, ${SERVICE}) AND at >= ${since} ORDER BY at`,
  };
}

const measure = (description: string) => Type.Number({ minimum: 0, description });

const Trends = component('Trends', 'Measures of the last 30 days.', {
  storage: Type.Array(
    Type.Object({
      at: moment('Start of the day, UTC.'),
      documents: measure('Documents at its end, or now; binned ones too.'),
      bytes: measure('The sum of their sizes.'),
    }),
    { description: 'The storage of the workspace by day.' },
  ),
  backlog: Type.Array(
    Type.Object({
      at: moment('Start of the hour.'),
      events: measure('The most packs of usage events and events of the outbox that waited at once.'),
      jobs: measure('Likewise, jobs that waited.'),
    }),
    { description: 'What waited in the service by hour.' },
  ),
});

const trendsRoute = (
  store: ReturnType<typeof createTrendStore>,
  { requireWorkspace, clock }: TrendsDeps,
): Route =>
  route(
    {
      area: 'administration',
      credential: 'administration',
      scope: 'admin',
      id: 'admin.trends',
      method: 'GET',
      path: '/admin/api/workspaces/{workspace_id}/trends',
      summary: 'The storage of a workspace by day, and what waited in the service by hour',
      description: 'Measured in the background: what changed now is in it a little later.',
      parameters: WorkspacePath,
      responses: {
        200: {
          description: 'The last 30 days.',
          schema: Trends,
          example: {
            storage: [{ at: '2026-11-21T00:00:00.000Z', documents: 1204, bytes: 481_296_384 }],
            backlog: [{ at: '2026-11-21T10:00:00.000Z', events: 3, jobs: 0 }],
          },
        },
      },
      refusals: [404],
    },
    async ({ path }) => {
      await requireWorkspace(path.workspace_id);
      const rows = await store.read(path.workspace_id, firstDay(clock));
      const at = (names: Partial<Record<Name, string>>): object[] => {
        const ofNames = rows.filter(({ name }) => name in names);
        return [...Map.groupBy(ofNames, (row) => row.at.getTime())].map(([time, found]) => ({
          at: new Date(time).toISOString(),
          ...Object.fromEntries(Object.values(names).map((member) => [member, 0])),
          ...Object.fromEntries(found.map(({ name, value }) => [names[name] ?? name, value])),
        }));
      };
      return {
        storage: at({ documents: 'documents', bytes: 'bytes' }),
        backlog: at({ events_waiting: 'events', jobs_waiting: 'jobs' }),
      };
    },
  );
