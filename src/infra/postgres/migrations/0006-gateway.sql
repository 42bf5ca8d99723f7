-- What models were used for: sums of an hour, made from usage events in the transaction that stores them.
CREATE TABLE model_usage (
  workspace_id      text COLLATE "C" NOT NULL,
  hour              timestamp(0) NOT NULL,
  -- '' without a key.
  key_id            text COLLATE "C" NOT NULL,
  endpoint          text COLLATE "C" NOT NULL,
  model             text COLLATE "C" NOT NULL,
  target            text COLLATE "C" NOT NULL,
  outcome           text COLLATE "C" NOT NULL,
  requests          bigint NOT NULL,
  -- Requests whose tokens are estimates.
  estimated         bigint NOT NULL,
  prompt_tokens     bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  cost              numeric NOT NULL,
  latency_ms        double precision NOT NULL,
  -- Of those that streamed.
  first_events      bigint NOT NULL,
  first_event_ms    double precision NOT NULL,
  PRIMARY KEY (workspace_id, hour, key_id, endpoint, model, target, outcome)
);

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
