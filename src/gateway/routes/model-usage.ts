import { type Route, route } from '../../http/operation.ts';
import { MODEL_USAGE_EXAMPLE } from '../examples.ts';
import type { createModelUsage } from '../operations/model-usage.ts';
import { ModelUsageQuery, ModelUsageRead, OwnUsageQuery, WorkspacePath } from '../schema.ts';

export function modelUsageRoutes(summarise: ReturnType<typeof createModelUsage>): Route[] {
  return [
    route(
      {
        area: 'models',
        credential: 'administration',
        scope: 'admin',
        id: 'models.usage',
        work: 'heavy',
        method: 'GET',
        path: '/admin/api/workspaces/{workspace_id}/model-usage',
        summary: 'What models were used for: requests, tokens, cost and times, in sums of hours',
        description:
          'What was answered is in it within about two seconds. Of cancelled requests, and of upstreams that tell no ' +
          'usage, tokens are estimates; `estimated` says of how many requests. Percentiles come from a histogram, and are ' +
          'exact to a factor of 1.41.',
        parameters: WorkspacePath,
        query: ModelUsageQuery,
        responses: {
          200: { description: 'The sums.', schema: ModelUsageRead, example: MODEL_USAGE_EXAMPLE },
        },
      },
      ({ path, query: { from, to, group_by: groupBy } }) =>
        summarise({ workspaceId: path.workspace_id }, { from, to, groupBy: groupBy ?? 'model' }),
    ),
    route(
      {
        area: 'models',
        credential: 'key',
        id: 'models.own-usage',
        method: 'GET',
        path: '/v1/me/usage',
        summary: 'What the key of the request has used models for, in sums of hours',
        description:
          'Any key may ask this, whatever its scopes. Without `from` and `to` it is the current month in UTC, which ' +
          'its budget counts. Otherwise as for a workspace. A key that replaced another one begins with nothing.',
        query: OwnUsageQuery,
        responses: {
          200: { description: 'The sums.', schema: ModelUsageRead, example: MODEL_USAGE_EXAMPLE },
        },
      },
      ({ principal: { workspaceId, keyId }, query: { from, to, group_by: groupBy } }) =>
        summarise({ workspaceId, keyId }, { from, to, groupBy: groupBy ?? 'model' }),
    ),
  ];
}
