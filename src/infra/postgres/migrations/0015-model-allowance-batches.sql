-- Up to which of a process's batches of uses the limits of keys have counted: one whose answer was lost is sent again,
-- and counts once.
CREATE TABLE model_allowance_batches (
  process_id text COLLATE "C" PRIMARY KEY,
  number     bigint NOT NULL,
  -- Milliseconds since 1970.
  told_at    double precision NOT NULL
);

-- What a key has spent in a month, by the accounts.
CREATE INDEX model_usage_keys ON model_usage (key_id, hour);
