import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer, parameters } from '../../http/input.ts';
import { MODEL_USAGE_EXAMPLE } from '../examples.ts';
import type { createModelUsage } from '../operations/model-usage.ts';
import { ModelUsageQuery, ModelUsageRead, OwnUsageQuery, WorkspacePath } from '../schema.ts';

export const modelUsageRoutes = ({ plugin }: Http, summarise: ReturnType<typeof createModelUsage>) =>
  new Elysia({ name: 'gateway.model-usage', tags: ['models'] })
    .use(plugin)
    .get(
      '/admin/api/workspaces/:workspace_id/model-usage',
      ({ params, query: { from, to, group_by: groupBy } }) =>
        summarise({ workspaceId: params.workspace_id }, { from, to, groupBy: groupBy ?? 'model' }),
      {
        key: { in: 'administration', scope: 'admin' },
        work: 'heavy',
        params: parameters(WorkspacePath),
        query: parameters(ModelUsageQuery),
        response: {
          200: answer({ description: 'The sums.', schema: ModelUsageRead, example: MODEL_USAGE_EXAMPLE }),
        },
        detail: {
          operationId: 'models.usage',
          summary: 'What models were used for: requests, tokens, cost and times, in sums of hours',
          description:
            'What was answered is in it within about two seconds. Of cancelled requests, and of upstreams that tell no ' +
            'usage, tokens are estimates; `estimated` says of how many requests. Percentiles come from a histogram, and are ' +
            'exact to a factor of 1.41.',
        },
      },
    )
    .get(
      '/v1/me/usage',
      ({ principal: { workspaceId, keyId }, query: { from, to, group_by: groupBy } }) =>
        summarise({ workspaceId, keyId }, { from, to, groupBy: groupBy ?? 'model' }),
      {
        key: { in: 'key' },
        query: parameters(OwnUsageQuery),
        response: {
          200: answer({ description: 'The sums.', schema: ModelUsageRead, example: MODEL_USAGE_EXAMPLE }),
        },
        detail: {
          operationId: 'models.own-usage',
          summary: 'What the key of the request has used models for, in sums of hours',
          description:
            'Any key may ask this, whatever its scopes. Without `from` and `to` it is the current month in UTC, which ' +
            'its budget counts. Otherwise as for a workspace. A key that replaced another one begins with nothing.',
        },
      },
    );
