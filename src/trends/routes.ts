import { Type } from '@sinclair/typebox';
import type { Clock } from '../core/clock.ts';
import { type Route, route } from '../http/operation.ts';
import { component, moment, WorkspacePath } from '../http/schemas.ts';
import type { Name, TrendStore } from './store.ts';
import { firstDayShown } from './times.ts';

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

type RoutesDeps = {
  /** Throws 404. */
  requireWorkspace(id: string): Promise<void>;
  clock: Clock;
};

export const trendsRoute = (
  store: Pick<TrendStore, 'read'>,
  { requireWorkspace, clock }: RoutesDeps,
): Route =>
  route(
    {
      area: 'administration',
      credential: 'administration',
      scope: 'admin',
      id: 'admin.trends',
      work: 'heavy',
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
      const rows = await store.read(path.workspace_id, firstDayShown(clock));
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
