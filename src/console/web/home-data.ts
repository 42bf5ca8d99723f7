// What the home page shows: sums of the last 30 days, never single rows.

import { answerOf, api, type Schemas } from './api.ts';
import { lastDays, toBound } from './periods.ts';
import { hasScope, isOwnWorkspace, workspace } from './state.ts';

const DAYS = 30;

const inWorkspace = () => ({ workspace_id: workspace.value });

type ModelUsage = Schemas['ModelUsage'];

const readModelUsage = (from: number): Promise<ModelUsage> =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/model-usage', {
      params: { path: inWorkspace(), query: { from: new Date(from).toISOString(), group_by: 'day' } },
    }),
  );

const readEvents = (from: number, groupBy: 'day' | 'source'): Promise<Schemas['MetricSummary']> =>
  answerOf(
    api.GET('/admin/call/api/v1/workspace_metric/{workspace_id}/summary', {
      params: { path: inWorkspace(), query: { from_date: toBound(from), group_by: groupBy, size: 100 } },
    }),
  );

const hasDocuments = (): Promise<boolean> =>
  answerOf(
    api.GET('/admin/call/v1/filter/{workspace_id}', { params: { path: inWorkspace(), query: { size: 1 } } }),
  ).then(({ items }) => items.length > 0);

const readTrends = (): Promise<Trends> =>
  answerOf(api.GET('/admin/api/workspaces/{workspace_id}/trends', { params: { path: inWorkspace() } }));

type Trends = Schemas['Trends'];

/** A document that was added just now is not in the storage yet: while there is none, they are looked for. */
async function readStorage(canRead: boolean): Promise<{ trends: Trends; hasFile: boolean }> {
  const trends = await readTrends();
  const isStored = (trends.storage.at(-1)?.documents ?? 0) > 0;
  return { trends, hasFile: isStored || (canRead && (await hasDocuments())) };
}

export type Overview = {
  days: number[];
  usage: ModelUsage;
  /** Undefined where the key may not see them. */
  events: Schemas['MetricSummary'] | undefined;
  sources: Schemas['MetricSummary'] | undefined;
  trends: Trends;
  hasFile: boolean;
  health: Schemas['Readiness'];
  keys: number;
};

export async function readOverview(): Promise<Overview> {
  const days = lastDays(DAYS);
  const from = days[0] ?? 0;
  const own = isOwnWorkspace.value;
  const seesEvents = own && hasScope('metrics');
  const [usage, events, sources, storage, health, keys] = await Promise.all([
    readModelUsage(from),
    seesEvents ? readEvents(from, 'day') : undefined,
    seesEvents ? readEvents(from, 'source') : undefined,
    readStorage(own && hasScope('documents:read')),
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
    events,
    sources,
    ...storage,
    health,
    keys: keys.items.length,
  };
}
