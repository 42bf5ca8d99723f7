import type { EventProjection } from '../../core/event.ts';

export const MODEL_USAGE_TYPE = 'model.usage';

const SUFFIX = '/models';

/**
 * Accounts of models stand apart from the workspace's own events, which the interface defines: no workspace's name holds
 * a slash, so none can be asked for them.
 */
export const toLedgerWorkspace = (workspaceId: string): string => `${workspaceId}${SUFFIX}`;

/** Hourly sums, counted in the transaction that stores the events. */
export const MODEL_USAGE_PROJECTION: EventProjection = {
  type: MODEL_USAGE_TYPE,
  statement: `
    INSERT INTO model_usage AS u (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
      prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram,
      first_event_histogram)
    SELECT left(workspace_id, -${SUFFIX.length}), date_trunc('hour', time), data->>'key_id', data->>'endpoint',
      data->>'model', data->>'target', data->>'outcome', sum((data->>'requests')::numeric),
      sum((data->>'estimated')::numeric), sum((data->>'prompt_tokens')::numeric),
      sum((data->>'completion_tokens')::numeric), sum((data->>'cost')::numeric),
      sum((data->>'latency_ms')::double precision), sum((data->>'first_events')::numeric),
      sum((data->>'first_event_ms')::double precision),
      coalesce(sum((data->>'latency_histogram')::numeric), 0),
      coalesce(sum((data->>'first_event_histogram')::numeric), 0)
    FROM stored WHERE type = '${MODEL_USAGE_TYPE}' AND workspace_id LIKE '%${SUFFIX}'
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (workspace_id, hour, key_id, endpoint, model, target, outcome) DO UPDATE SET
      requests = u.requests + excluded.requests, estimated = u.estimated + excluded.estimated,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens,
      cost = u.cost + excluded.cost, latency_ms = u.latency_ms + excluded.latency_ms,
      first_events = u.first_events + excluded.first_events,
      first_event_ms = u.first_event_ms + excluded.first_event_ms,
      latency_histogram = u.latency_histogram + excluded.latency_histogram,
      first_event_histogram = u.first_event_histogram + excluded.first_event_histogram`,
};
