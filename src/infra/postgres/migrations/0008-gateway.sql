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
