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

-- The identity of a CloudEvent is its source and id.
CREATE UNIQUE INDEX usage_events_identity ON usage_events (workspace_id, event_id, source);
CREATE INDEX usage_events_by_time ON usage_events (workspace_id, created_at, id);
CREATE INDEX usage_events_of_session ON usage_events (workspace_id, (data ->> 'chat_session_id'), created_at, id)
  WHERE source = 'atrium' AND data ->> 'chat_session_id' IS NOT NULL;
CREATE INDEX usage_events_of_message
  ON usage_events (workspace_id, (coalesce(data ->> 'message_id', data ->> 'old_message_id')))
  WHERE source = 'atrium' AND type IN ('messages.user.feedback', 'messages.user.delete', 'messages.user.update');
-- Sums of usage events by the time at which they happened (src/usage/store/summaries.ts).
CREATE INDEX usage_events_by_event_time ON usage_events (workspace_id, time);

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE usage_events_%s PARTITION OF usage_events FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      part, part);
  END LOOP;
END
$$;

-- How many events there are: of each batch that was stored (grain 0), each minute (60) and each day (86400). A window
-- is summed from whole days, whole minutes and batches, so that a total is exact and reads no event.
CREATE TABLE usage_counts (
  workspace_id text COLLATE "C",
  grain        integer,
  start        timestamp(3),
  events       bigint NOT NULL,
  PRIMARY KEY (workspace_id, grain, start) INCLUDE (events)
);

-- What summaries are made of. One row for each source, or for each subject, of an hour and type.
CREATE TABLE usage_by_source (
  workspace_id text COLLATE "C",
  hour         timestamp(0),
  type         text COLLATE "C",
  source       text COLLATE "C",
  events       bigint NOT NULL,
  value        numeric NOT NULL,
  PRIMARY KEY (workspace_id, hour, type, source)
);

CREATE TABLE usage_by_subject (
  workspace_id text COLLATE "C",
  hour         timestamp(0),
  type         text COLLATE "C",
  subject      text COLLATE "C",
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
CREATE TABLE usage_cursor_secret (
  secret bytea NOT NULL
);

INSERT INTO usage_cursor_secret (secret)
  SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- Usage events that may not have been recorded yet: inserted with the change that they tell of, deleted when they have.
CREATE TABLE usage_outbox (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id     uuid NOT NULL DEFAULT gen_random_uuid(),
  workspace_id text COLLATE "C" NOT NULL,
  type         text NOT NULL,
  subject      text NOT NULL,
  data         json NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now()
);

-- Puts an event into the outbox, for the statement that causes it to call in what it selects.
CREATE FUNCTION usage_tell(about_workspace text, event_type text, event_subject text, event_data json)
RETURNS boolean LANGUAGE sql AS $$
  INSERT INTO usage_outbox (workspace_id, type, subject, data)
  VALUES (about_workspace, event_type, event_subject, event_data)
  RETURNING true
$$;
