-- Sums of days: what pages over weeks are made from, where hours would be too many rows. The database keeps them in step
-- with the hours, so that those that a process of an earlier version adds to are counted as well.

-- Counts of buckets of times as digits of a number (src/gateway/accounting/histogram.ts). 0: none were kept.
ALTER TABLE model_usage
  ADD COLUMN latency_histogram numeric NOT NULL DEFAULT 0,
  ADD COLUMN first_event_histogram numeric NOT NULL DEFAULT 0;

-- Sums along one dimension at a time: `all` (the name is empty), `model`, `target`, `key`, `endpoint` or `outcome`.
CREATE TABLE model_usage_days (
  workspace_id          text COLLATE "C" NOT NULL,
  dimension             text COLLATE "C" NOT NULL,
  day                   timestamp(0) NOT NULL,
  name                  text COLLATE "C" NOT NULL,
  requests              bigint NOT NULL,
  -- Requests that failed or were refused.
  errors                bigint NOT NULL,
  estimated             bigint NOT NULL,
  prompt_tokens         bigint NOT NULL,
  completion_tokens     bigint NOT NULL,
  cost                  numeric NOT NULL,
  latency_ms            double precision NOT NULL,
  first_events          bigint NOT NULL,
  first_event_ms        double precision NOT NULL,
  latency_histogram     numeric NOT NULL,
  first_event_histogram numeric NOT NULL,
  PRIMARY KEY (workspace_id, dimension, day, name)
);

-- In the order of a page of subjects.
CREATE TABLE usage_by_subject_days (
  workspace_id text COLLATE "C" NOT NULL,
  subject      text COLLATE "C" NOT NULL,
  day          timestamp(0) NOT NULL,
  type         text COLLATE "C" NOT NULL,
  events       bigint NOT NULL,
  value        numeric NOT NULL,
  PRIMARY KEY (workspace_id, subject, day, type)
);

DO $migration$
DECLARE
  -- `%s` yields rows of the hours and a sign: +1 for a row that was added, -1 for one that was removed.
  add_model_usage CONSTANT text := $sql$
    INSERT INTO model_usage_days AS d (workspace_id, dimension, day, name, requests, errors, estimated, prompt_tokens,
      completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram, first_event_histogram)
    SELECT workspace_id, dimension, date_trunc('day', hour), name, sum(sign * requests),
      coalesce(sum(sign * requests) FILTER (WHERE outcome IN ('failed', 'refused')), 0), sum(sign * estimated),
      sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cost), sum(sign * latency_ms),
      sum(sign * first_events), sum(sign * first_event_ms), sum(sign * latency_histogram),
      sum(sign * first_event_histogram)
    FROM (%s) AS changed, LATERAL (VALUES ('all', ''), ('model', model), ('target', target), ('key', key_id),
      ('endpoint', endpoint), ('outcome', outcome)) AS along (dimension, name)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, dimension, day, name) DO UPDATE SET
      requests = d.requests + excluded.requests, errors = d.errors + excluded.errors,
      estimated = d.estimated + excluded.estimated, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost,
      latency_ms = d.latency_ms + excluded.latency_ms, first_events = d.first_events + excluded.first_events,
      first_event_ms = d.first_event_ms + excluded.first_event_ms,
      latency_histogram = d.latency_histogram + excluded.latency_histogram,
      first_event_histogram = d.first_event_histogram + excluded.first_event_histogram$sql$;
  add_subjects CONSTANT text := $sql$
    INSERT INTO usage_by_subject_days AS d (workspace_id, subject, day, type, events, value)
    SELECT workspace_id, subject, date_trunc('day', hour), type, sum(sign * events), sum(sign * value)
    FROM (%s) AS changed GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, subject, day, type) DO UPDATE SET
      events = d.events + excluded.events, value = d.value + excluded.value$sql$;
  added CONSTANT text := 'SELECT 1 AS sign, added.* FROM added';
  added_and_removed CONSTANT text := added || ' UNION ALL SELECT -1, removed.* FROM removed';
  hours text;
  statement text;
BEGIN
  FOR hours, statement IN VALUES ('model_usage', add_model_usage), ('usage_by_subject', add_subjects) LOOP
    EXECUTE format('CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS %L',
      hours || '_inserted', 'BEGIN ' || format(statement, added) || '; RETURN NULL; END');
    EXECUTE format('CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS %L',
      hours || '_updated', 'BEGIN ' || format(statement, added_and_removed) || '; RETURN NULL; END');
    EXECUTE format('CREATE TRIGGER days_inserted AFTER INSERT ON %I REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', hours, hours || '_inserted');
    EXECUTE format('CREATE TRIGGER days_updated AFTER UPDATE ON %I REFERENCING NEW TABLE AS added OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', hours, hours || '_updated');
    -- The triggers keep others from writing until this transaction ends.
    EXECUTE format(statement, 'SELECT 1 AS sign, h.* FROM ' || quote_ident(hours) || ' h');
  END LOOP;
END
$migration$;

-- What was measured in the course of time: a value for each day or hour. The workspace is empty for the service as a whole.
CREATE TABLE trends (
  workspace_id text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  at           timestamp(0) NOT NULL,
  value        double precision NOT NULL,
  PRIMARY KEY (workspace_id, name, at)
);
