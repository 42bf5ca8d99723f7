-- A state without its long texts, so that a page of the log stays small.
CREATE FUNCTION audit_state(state jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN pg_column_size(state) <= 4000 THEN state ELSE (
    SELECT jsonb_object_agg(key,
      CASE WHEN length(value #>> '{}') > 1000 THEN to_jsonb(left(value #>> '{}', 1000) || '…') ELSE value END)
    FROM jsonb_each(state)) END
$$;

CREATE TABLE workspaces (
  id         text PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{1,62}$'),
  name       text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX workspaces_newest ON workspaces (created_at DESC, id DESC);

CREATE TABLE users (
  id              uuid PRIMARY KEY,
  workspace_id    text NOT NULL REFERENCES workspaces(id),
  email           text NOT NULL CHECK (email = lower((email COLLATE "C"))),
  name            text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  -- The claims `iss` and `sub`; null where the user has never signed in at a provider.
  sign_on_issuer  text,
  sign_on_subject text,
  UNIQUE (workspace_id, email),
  UNIQUE (workspace_id, id),
  CHECK ((sign_on_issuer IS NULL) = (sign_on_subject IS NULL))
);

CREATE INDEX users_newest ON users (workspace_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX users_sign_on ON users (sign_on_subject, sign_on_issuer, workspace_id)
  WHERE sign_on_subject IS NOT NULL;

CREATE TABLE keys (
  id           uuid PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces(id),
  -- Null once the owner is gone; the row stays as the record of a key that was in use.
  user_id      uuid,
  name         text NOT NULL,
  prefix       text NOT NULL,
  -- SHA-256 of the key, which is kept nowhere.
  hash         bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  scopes       text[] NOT NULL,
  limits       jsonb NOT NULL DEFAULT '{}',
  expires_at   timestamptz(3),
  disabled     boolean NOT NULL DEFAULT false,
  -- When a rotation made its successor; it may be valid for a while yet.
  replaced_at  timestamptz(3),
  revoked_at   timestamptz(3),
  last_used_at timestamptz(3),
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  -- A key of single sign-on has a hash of which no text is known.
  sign_on      boolean NOT NULL DEFAULT false,
  -- The keys that a key replaces, oldest first: their limits and what they have spent are its own.
  predecessors uuid[] NOT NULL DEFAULT '{}',
  FOREIGN KEY (workspace_id, user_id) REFERENCES users(workspace_id, id) ON DELETE SET NULL (user_id),
  CHECK ((user_id IS NOT NULL) OR (revoked_at IS NOT NULL))
);

CREATE INDEX keys_newest ON keys (workspace_id, created_at DESC, id DESC) WHERE revoked_at IS NULL;
CREATE INDEX keys_of_user ON keys (user_id);
CREATE UNIQUE INDEX keys_sign_on ON keys (user_id) WHERE sign_on AND revoked_at IS NULL;

CREATE TABLE portal_sessions (
  -- SHA-256 of the cookie's value.
  hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  key_id     uuid NOT NULL REFERENCES keys(id) ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  id         uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  -- How the person signed in: `key` or `link`.
  provider   text NOT NULL DEFAULT 'key',
  -- The browser, as it names itself.
  user_agent text,
  -- The workspaces that the sign-in opens; null where a key or a link opened the session. The provider may be `oidc`, too.
  workspaces text[]
);

CREATE INDEX portal_sessions_of_key ON portal_sessions (key_id);
CREATE INDEX portal_sessions_by_expiry ON portal_sessions (expires_at);

-- The audit log: who changed what administratively. A row is written by the statement of its change, through audit_tell
-- alone, and is never changed; docs/decisions/019 has the reasons.
CREATE TABLE audit_log (
  id           bigint GENERATED ALWAYS AS IDENTITY,
  created_at   timestamptz(3),
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
  PRIMARY KEY (created_at, id)
);

-- One for each filter, all in the order of a page.
CREATE INDEX audit_log_newest ON audit_log (workspace_id, created_at, id);
CREATE INDEX audit_log_actions ON audit_log (workspace_id, action, created_at, id);
CREATE INDEX audit_log_actors ON audit_log (workspace_id, actor, created_at, id);
CREATE INDEX audit_log_keys ON audit_log (workspace_id, key_id, created_at, id) WHERE key_id IS NOT NULL;
CREATE INDEX audit_log_kinds ON audit_log (workspace_id, object_kind, created_at, id);
CREATE INDEX audit_log_objects ON audit_log (workspace_id, object_kind, object_id, created_at, id);

CREATE TABLE portal_links (
  -- SHA-256 of the secret in the link.
  hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  -- The session that the link opens has the rights of this key.
  key_id     uuid NOT NULL REFERENCES keys(id) ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL
);

CREATE FUNCTION access_announce(hash bytea) RETURNS void LANGUAGE sql AS
$$ SELECT pg_notify('atrium_invalidate', 'access:' || encode(hash, 'hex')) $$;

CREATE FUNCTION access_hash_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op <> 'INSERT' THEN PERFORM access_announce(old.hash); END IF;
  IF tg_op <> 'DELETE' THEN PERFORM access_announce(new.hash); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION access_user_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM access_announce(hash) FROM keys WHERE user_id = new.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;

CREATE FUNCTION access_user_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET revoked_at = now() WHERE user_id = old.id AND revoked_at IS NULL;
  RETURN old;
END $$;

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

-- An insert counts too: that the key is unknown may be cached. Being used (last_used_at) changes nothing.
CREATE TRIGGER keys_changed
  AFTER INSERT OR DELETE OR UPDATE OF
    id, hash, workspace_id, user_id, scopes, limits, expires_at, disabled, revoked_at
  ON keys FOR EACH ROW EXECUTE FUNCTION access_hash_changed();

CREATE TRIGGER portal_sessions_changed
  AFTER DELETE OR UPDATE ON portal_sessions FOR EACH ROW EXECUTE FUNCTION access_hash_changed();

CREATE TRIGGER users_changed
  AFTER UPDATE OF email ON users FOR EACH ROW
  WHEN (old.email IS DISTINCT FROM new.email) EXECUTE FUNCTION access_user_changed();

-- Before the foreign key takes the owner away: no key outlives its person.
CREATE TRIGGER users_deleted
  BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION access_user_deleted();
