import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import type { Http } from '../http/http.ts';
import { answer, parameters, refusals } from '../http/input.ts';
import { component, moment, WorkspacePath } from '../http/schemas.ts';
import { firstDayShown, type Name, type TrendStore } from './store.ts';

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

type TrendsRoutesDeps = {
  store: TrendStore;
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  clock: Clock;
};

export const trendsRoutes = ({ plugin }: Http, { store, requireWorkspace, clock }: TrendsRoutesDeps) =>
  new Elysia({ name: 'trends', tags: ['administration'] }).use(plugin).get(
    '/admin/api/workspaces/:workspace_id/trends',
    async ({ params }) => {
      await requireWorkspace(params.workspace_id);
      const rows = await store.read(params.workspace_id, firstDayShown(clock));
      return {
        storage: seriesOf(rows, ['documents', 'bytes']).map(({ at, measured }) => ({
          at,
          documents: measured('documents'),
          bytes: measured('bytes'),
        })),
        backlog: seriesOf(rows, ['events_waiting', 'jobs_waiting']).map(({ at, measured }) => ({
          at,
          events: measured('events_waiting'),
          jobs: measured('jobs_waiting'),
        })),
      };
    },
    {
      key: { in: 'administration', scope: 'admin' },
      work: 'heavy',
      params: parameters(WorkspacePath),
      response: {
        200: answer({
          description: 'The last 30 days.',
          schema: Trends,
          example: {
            storage: [{ at: '2026-11-21T00:00:00.000Z', documents: 1204, bytes: 481_296_384 }],
            backlog: [{ at: '2026-11-21T10:00:00.000Z', events: 3, jobs: 0 }],
          },
        }),
        ...refusals(404),
      },
      detail: {
        operationId: 'admin.trends',
        summary: 'The storage of a workspace by day, and what waited in the service by hour',
        description: 'Measured in the background: what changed now is in it a little later.',
      },
    },
  );

/** The measures with these names by their times; 0 where one of them is absent. */
function seriesOf(rows: Awaited<ReturnType<TrendStore['read']>>, names: readonly Name[]) {
  const ofNames = rows.filter(({ name }) => names.includes(name));
  return [...Map.groupBy(ofNames, ({ at }) => at.getTime())].map(([time, found]) => ({
    at: new Date(time).toISOString(),
    measured: (name: Name): number => found.find((row) => row.name === name)?.value ?? 0,
  }));
}
