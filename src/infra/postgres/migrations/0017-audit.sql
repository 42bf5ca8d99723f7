-- The audit log: who changed what administratively. A row is written by the statement of its change, through audit_tell
-- alone, and is never changed; docs/decisions/019 has the reasons.
CREATE TABLE audit_log (
  id           bigint GENERATED ALWAYS AS IDENTITY,
  created_at   timestamptz(3) NOT NULL,
  -- Empty for a change of the service as a whole.
  workspace_id text COLLATE "C" NOT NULL,
  action       text COLLATE "C" NOT NULL,
  -- The e-mail of a person, or `command-line` or `service`.
  actor        text COLLATE "C" NOT NULL,
  via          text COLLATE "C" NOT NULL,
  user_id      text COLLATE "C",
  key_id       text COLLATE "C",
  address      text,
  request_id   text,
  object_kind  text COLLATE "C" NOT NULL,
  object_id    text COLLATE "C",
  before       jsonb,
  after        jsonb,
  -- In the order of removal.
  PRIMARY KEY (created_at, id)
);

-- One for each filter, all in the order of a page.
CREATE INDEX audit_log_newest ON audit_log (workspace_id, created_at, id);
CREATE INDEX audit_log_actions ON audit_log (workspace_id, action, created_at, id);
CREATE INDEX audit_log_actors ON audit_log (workspace_id, actor, created_at, id);
CREATE INDEX audit_log_keys ON audit_log (workspace_id, key_id, created_at, id) WHERE key_id IS NOT NULL;
CREATE INDEX audit_log_kinds ON audit_log (workspace_id, object_kind, created_at, id);
CREATE INDEX audit_log_objects ON audit_log (workspace_id, object_kind, object_id, created_at, id);

-- A state without its long texts, so that a page of the log stays small.
CREATE FUNCTION audit_state(state jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN pg_column_size(state) <= 4000 THEN state ELSE (
    SELECT jsonb_object_agg(key,
      CASE WHEN length(value #>> '{}') > 1000 THEN to_jsonb(left(value #>> '{}', 1000) || '…') ELSE value END)
    FROM jsonb_each(state)) END
$$;

-- Writes a row of the audit log, for the statement of the change to call in what it selects.
CREATE FUNCTION audit_tell(
  author jsonb, about_workspace text, change text, kind text, object text, state_before jsonb, state_after jsonb
) RETURNS boolean LANGUAGE sql AS $$
  INSERT INTO audit_log (
    created_at, workspace_id, action, actor, via, user_id, key_id, address, request_id, object_kind, object_id, before, after)
  VALUES (
    clock_timestamp(), about_workspace, change, author->>'actor', author->>'via', author->>'userId', author->>'keyId',
    author->>'address', author->>'requestId', kind, object, audit_state(state_before), audit_state(state_after))
  RETURNING true
$$;
