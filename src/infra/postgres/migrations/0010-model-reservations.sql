-- What requests that run may use of the limits of their keys, as each process has told the others. A row that is not
-- told again before it expires (milliseconds since 1970) is of a process that has died.
CREATE TABLE model_reservations (
  key_id     text COLLATE "C" NOT NULL,
  process_id text COLLATE "C" NOT NULL,
  -- Allowance of tokens, as milliseconds of its minute.
  tokens_ms  double precision NOT NULL,
  cost       double precision NOT NULL,
  expires_at double precision NOT NULL,
  PRIMARY KEY (key_id, process_id)
);
