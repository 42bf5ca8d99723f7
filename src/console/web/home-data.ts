// What the home page shows: sums of the last 30 days, never single rows.

import { answerOf, api, type Schemas } from './api.ts';
import { lastDays, toBound } from './periods.ts';
import { hasScope, isOwnWorkspace, workspace } from './state.ts';

const DAYS = 30;

const inWorkspace = () => ({ workspace_id: workspace.value });

type ModelUsage = Schemas['ModelUsage'];

const readModelUsage = (from: number, groupBy: 'day' | 'outcome'): Promise<ModelUsage> =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/model-usage', {
      params: { path: inWorkspace(), query: { from: new Date(from).toISOString(), group_by: groupBy } },
    }),
  );

const readEvents = (from: number, groupBy: 'day' | 'source'): Promise<Schemas['MetricSummary']> =>
  answerOf(
    api.GET('/admin/call/api/v1/workspace_metric/{workspace_id}/summary', {
      params: { path: inWorkspace(), query: { from_date: toBound(from), group_by: groupBy, size: 100 } },
    }),
  );

const countDocuments = (): Promise<number | null> =>
  answerOf(
    api.GET('/admin/call/v1/filter/{workspace_id}', { params: { path: inWorkspace(), query: { size: 1 } } }),
  ).then(({ total }) => total);

export type Overview = {
  days: number[];
  usage: ModelUsage;
  /** Requests by how they ended. */
  outcomes: ModelUsage['items'];
  /** Undefined where the key may not see them. */
  events: Schemas['MetricSummary'] | undefined;
  sources: Schemas['MetricSummary'] | undefined;
  documents: number | null | undefined;
  health: Schemas['Readiness'];
  keys: number;
};

export async function readOverview(): Promise<Overview> {
  const days = lastDays(DAYS);
  const from = days[0] ?? 0;
  const own = isOwnWorkspace.value;
  const seesEvents = own && hasScope('metrics');
  const [usage, outcomes, events, sources, documents, health, keys] = await Promise.all([
    readModelUsage(from, 'day'),
    readModelUsage(from, 'outcome'),
    seesEvents ? readEvents(from, 'day') : undefined,
    seesEvents ? readEvents(from, 'source') : undefined,
    own && hasScope('documents:read') ? countDocuments() : undefined,
    answerOf(api.GET('/admin/api/status')),
    answerOf(
      api.GET('/admin/api/workspaces/{workspace_id}/keys', {
        params: { path: inWorkspace(), query: { limit: 2 } },
      }),
    ),
  ]);
  return {
    days,
    usage,
    outcomes: outcomes.items,
    events,
    sources,
    documents,
    health,
    keys: keys.items.length,
  };
}
