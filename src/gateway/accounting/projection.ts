// Usage records → sums of hours and days, in the transaction that stores the records.

import type { EventProjection } from '../../core/event.ts';
import { histogramOf } from './histogram.ts';

export const MODEL_USAGE_TYPE = 'model.usage';

const SUFFIX = '/models';

/**
 * Usage records are stored apart from the workspace's own events, which the interface defines: no workspace's name holds
 * a slash, so no client can read them as events.
 */
export const toRecordsWorkspace = (workspaceId: string): string => `${workspaceId}${SUFFIX}`;

export const SUMS = [
  'requests',
  'estimated',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'latency_ms',
  'first_events',
  'first_event_ms',
  'latency_histogram',
  'first_event_histogram',
];
const listed = SUMS.join(', ');
const added = (table: string, names: readonly string[]): string =>
  names.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');

/** `value` is 1 for a request, and 0 for a further part of one, whose time is not counted. */
export const MODEL_USAGE_PROJECTION: EventProjection = {
  type: MODEL_USAGE_TYPE,
  statements: `
  model_calls AS MATERIALIZED (
    SELECT left(workspace_id, -${SUFFIX.length}) AS workspace_id, date_trunc('hour', time) AS hour, key_id, endpoint,
      model, target, outcome, sum(value) AS requests, sum(value) FILTER (WHERE r.estimated) AS estimated,
      sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens, sum(cost) AS cost,
      sum(value::float8 * latency_ms) AS latency_ms, count(first_event_ms) AS first_events,
      sum(first_event_ms) AS first_event_ms, sum(value * ${histogramOf('latency_ms')}) AS latency_histogram,
      sum(${histogramOf('first_event_ms')}) FILTER (WHERE first_event_ms IS NOT NULL) AS first_event_histogram
    FROM stored CROSS JOIN LATERAL json_to_record(data) AS r(key_id text, endpoint text, model text, target text,
      outcome text, estimated boolean, prompt_tokens numeric, completion_tokens numeric, cost numeric, latency_ms float8,
      first_event_ms float8)
    WHERE type = '${MODEL_USAGE_TYPE}' AND workspace_id LIKE '%${SUFFIX}'
    GROUP BY 1, 2, 3, 4, 5, 6, 7),
  model_hours AS (
    INSERT INTO model_usage AS u (workspace_id, hour, key_id, endpoint, model, target, outcome, ${listed})
    SELECT workspace_id, hour, key_id, endpoint, model, target, outcome,
      ${SUMS.map((name) => `coalesce(${name}, 0)`).join(', ')}
    FROM model_calls
    ON CONFLICT (workspace_id, hour, key_id, endpoint, model, target, outcome) DO UPDATE SET ${added('u', SUMS)}),
  model_days AS (
    INSERT INTO model_usage_days AS d (workspace_id, dimension, day, name, errors, ${listed})
    SELECT workspace_id, dimension, date_trunc('day', hour), name,
      coalesce(sum(requests) FILTER (WHERE outcome IN ('failed', 'refused')), 0),
      ${SUMS.map((name) => `coalesce(sum(${name}), 0)`).join(', ')}
    FROM model_calls, LATERAL (VALUES ('all', ''), ('model', model), ('target', target), ('key', key_id),
      ('endpoint', endpoint), ('outcome', outcome)) AS along (dimension, name)
    GROUP BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, dimension, day, name) DO UPDATE SET ${added('d', ['errors', ...SUMS])})`,
};
