-- What models were used for: sums of an hour, made from usage events in the transaction that stores them.
CREATE TABLE model_usage (
  workspace_id          text COLLATE "C",
  hour                  timestamp(0),
  -- '' without a key.
  key_id                text COLLATE "C",
  endpoint              text COLLATE "C",
  model                 text COLLATE "C",
  target                text COLLATE "C",
  outcome               text COLLATE "C",
  requests              bigint NOT NULL,
  -- Requests whose tokens are estimates.
  estimated             bigint NOT NULL,
  prompt_tokens         bigint NOT NULL,
  completion_tokens     bigint NOT NULL,
  cost                  numeric NOT NULL,
  latency_ms            double precision NOT NULL,
  -- Of those that streamed.
  first_events          bigint NOT NULL,
  first_event_ms        double precision NOT NULL,
  -- Counts of buckets of times as digits of a number (src/gateway/accounting/histogram.ts). 0: none were kept.
  latency_histogram     numeric NOT NULL DEFAULT 0,
  first_event_histogram numeric NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, hour, key_id, endpoint, model, target, outcome)
);

-- What a key has spent in a month, by the accounts.
CREATE INDEX model_usage_keys ON model_usage (key_id, hour);

-- What limited keys have used up, as the processes have told one another. Times are milliseconds since 1970: the moment
-- until which the allowance is spoken for (GCRA's theoretical arrival time).
CREATE TABLE model_allowances (
  key_id      text COLLATE "C" PRIMARY KEY,
  requests_at double precision NOT NULL,
  tokens_at   double precision NOT NULL,
  -- Year and month, UTC: 202611.
  month       integer NOT NULL,
  spent       double precision NOT NULL
);

-- What requests that run may use of the limits of their keys, as each process has told the others. A row that is not
-- told again before it expires (milliseconds since 1970) is of a process that has died.
CREATE TABLE model_reservations (
  key_id     text COLLATE "C",
  process_id text COLLATE "C",
  -- Allowance of tokens, as milliseconds of its minute.
  tokens_ms  double precision NOT NULL,
  cost       double precision NOT NULL,
  expires_at double precision NOT NULL,
  PRIMARY KEY (key_id, process_id)
);

-- Up to which of a process's batches of uses the limits of keys have counted: one whose answer was lost is sent again,
-- and counts once.
CREATE TABLE model_allowance_batches (
  process_id text COLLATE "C" PRIMARY KEY,
  number     bigint NOT NULL,
  -- Milliseconds since 1970.
  told_at    double precision NOT NULL
);

-- Sums along one dimension at a time: `all` (the name is empty), `model`, `target`, `key`, `endpoint` or `outcome`.
CREATE TABLE model_usage_days (
  workspace_id          text COLLATE "C",
  dimension             text COLLATE "C",
  day                   timestamp(0),
  name                  text COLLATE "C",
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

-- Adds what was stored to the sums of its day. Two functions, because only an update has the relation `removed`.
CREATE FUNCTION model_usage_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO model_usage_days AS d (workspace_id, dimension, day, name, requests, errors, estimated, prompt_tokens,
      completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram, first_event_histogram)
    SELECT workspace_id, dimension, date_trunc('day', hour), name, sum(sign * requests),
      coalesce(sum(sign * requests) FILTER (WHERE outcome IN ('failed', 'refused')), 0), sum(sign * estimated),
      sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cost), sum(sign * latency_ms),
      sum(sign * first_events), sum(sign * first_event_ms), sum(sign * latency_histogram),
      sum(sign * first_event_histogram)
    FROM (SELECT 1 AS sign, added.* FROM added) AS changed,
      LATERAL (VALUES ('all', ''), ('model', model), ('target', target), ('key', key_id), ('endpoint', endpoint), ('outcome', outcome)) AS along (dimension, name)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, dimension, day, name) DO UPDATE SET
      requests = d.requests + excluded.requests, errors = d.errors + excluded.errors,
      estimated = d.estimated + excluded.estimated, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost,
      latency_ms = d.latency_ms + excluded.latency_ms, first_events = d.first_events + excluded.first_events,
      first_event_ms = d.first_event_ms + excluded.first_event_ms,
      latency_histogram = d.latency_histogram + excluded.latency_histogram,
      first_event_histogram = d.first_event_histogram + excluded.first_event_histogram;
  RETURN NULL;
END
$$;

CREATE FUNCTION model_usage_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO model_usage_days AS d (workspace_id, dimension, day, name, requests, errors, estimated, prompt_tokens,
      completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram, first_event_histogram)
    SELECT workspace_id, dimension, date_trunc('day', hour), name, sum(sign * requests),
      coalesce(sum(sign * requests) FILTER (WHERE outcome IN ('failed', 'refused')), 0), sum(sign * estimated),
      sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cost), sum(sign * latency_ms),
      sum(sign * first_events), sum(sign * first_event_ms), sum(sign * latency_histogram),
      sum(sign * first_event_histogram)
    FROM (SELECT 1 AS sign, added.* FROM added UNION ALL SELECT -1, removed.* FROM removed) AS changed,
      LATERAL (VALUES ('all', ''), ('model', model), ('target', target), ('key', key_id), ('endpoint', endpoint), ('outcome', outcome)) AS along (dimension, name)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, dimension, day, name) DO UPDATE SET
      requests = d.requests + excluded.requests, errors = d.errors + excluded.errors,
      estimated = d.estimated + excluded.estimated, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = d.completion_tokens + excluded.completion_tokens, cost = d.cost + excluded.cost,
      latency_ms = d.latency_ms + excluded.latency_ms, first_events = d.first_events + excluded.first_events,
      first_event_ms = d.first_event_ms + excluded.first_event_ms,
      latency_histogram = d.latency_histogram + excluded.latency_histogram,
      first_event_histogram = d.first_event_histogram + excluded.first_event_histogram;
  RETURN NULL;
END
$$;

CREATE TRIGGER days_inserted AFTER INSERT ON model_usage
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION model_usage_inserted();

CREATE TRIGGER days_updated AFTER UPDATE ON model_usage
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION model_usage_updated();
