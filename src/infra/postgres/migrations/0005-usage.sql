-- Usage events: what customers are billed by. docs/decisions/006 says why the tables are as they are.

-- Hash-partitioned, so that each part's indexes stay small and the key of deduplication may hold no time. The same
-- column distributes the table over machines (docs/operating/growing.md).
CREATE TABLE usage_events (
  workspace_id text COLLATE "C" NOT NULL,
  -- Time of storage. Later commits have later times within a workspace, so that readers never skip any.
  created_at   timestamp(3) NOT NULL,
  id           uuid NOT NULL,
  event_id     text COLLATE "C" NOT NULL,
  source       text COLLATE "C" NOT NULL,
  type         text COLLATE "C" NOT NULL,
  subject      text COLLATE "C" NOT NULL,
  time         timestamp NOT NULL,
  -- Text as JSON.stringify writes it: no digit is lost.
  data         json NOT NULL,
  extensions   json,
  -- data.value where it is a number.
  value        numeric
) PARTITION BY HASH (workspace_id);

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE usage_events_%s PARTITION OF usage_events FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      part, part);
  END LOOP;
END
$$;

-- The identity of a CloudEvent is its source and id.
CREATE UNIQUE INDEX usage_events_identity ON usage_events (workspace_id, event_id, source);
CREATE INDEX usage_events_by_time ON usage_events (workspace_id, created_at, id);

-- How many events there are: of each batch that was stored (grain 0), each minute (60) and each day (86400). A window
-- is summed from whole days, whole minutes and batches, so that a total is exact and reads no event.
CREATE TABLE usage_counts (
  workspace_id text COLLATE "C" NOT NULL,
  grain        integer NOT NULL,
  start        timestamp(3) NOT NULL,
  events       bigint NOT NULL,
  PRIMARY KEY (workspace_id, grain, start) INCLUDE (events)
);

-- What summaries are made of. One row for each source, or for each subject, of an hour and type.
CREATE TABLE usage_by_source (
  workspace_id text COLLATE "C" NOT NULL,
  hour         timestamp(0) NOT NULL,
  type         text COLLATE "C" NOT NULL,
  source       text COLLATE "C" NOT NULL,
  events       bigint NOT NULL,
  value        numeric NOT NULL,
  PRIMARY KEY (workspace_id, hour, type, source)
);
CREATE TABLE usage_by_subject (
  workspace_id text COLLATE "C" NOT NULL,
  hour         timestamp(0) NOT NULL,
  type         text COLLATE "C" NOT NULL,
  subject      text COLLATE "C" NOT NULL,
  events       bigint NOT NULL,
  value        numeric NOT NULL,
  PRIMARY KEY (workspace_id, hour, type, subject)
);

-- Events that the database refused, as they came (src/usage/row.ts), for an administrator to look at.
CREATE TABLE usage_dead_letters (
  id           uuid PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  reason       text NOT NULL,
  event        bytea NOT NULL
);
CREATE INDEX usage_dead_letters_of_workspace ON usage_dead_letters (workspace_id, created_at, id);

-- Signs cursors, in every process alike.
CREATE TABLE usage_cursor_secret (secret bytea NOT NULL);
INSERT INTO usage_cursor_secret (secret)
  SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
