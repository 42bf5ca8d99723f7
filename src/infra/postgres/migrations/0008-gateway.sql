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

-- What limited keys have used: of each key and month one row for each process that has counted something. Times are milliseconds
-- since 1970.
CREATE TABLE model_allowances (
  key_id             text COLLATE "C",
  -- Year and month, UTC: 202611.
  month              integer,
  counter_id         text COLLATE "C",
  -- Since the month began: allowances as milliseconds of their minutes, and money.
  requests_ms        double precision NOT NULL,
  tokens_ms          double precision NOT NULL,
  spent              double precision NOT NULL,
  -- Until when the allowances of a minute are used up, as the process knows it.
  requests_at        double precision NOT NULL,
  tokens_at          double precision NOT NULL,
  -- By requests that are running; void where the process has not reported for a while.
  reserved_tokens_ms double precision NOT NULL,
  reserved_cost      double precision NOT NULL,
  told_at            double precision NOT NULL,
  PRIMARY KEY (key_id, month, counter_id)
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
