-- Workspaces, the people in them, their keys, and the portal's sessions. Whatever changes what a key is
-- worth, by whatever hand, is announced as `access:<hash>` so that every process forgets what it has cached.

CREATE TABLE workspaces (
  id text PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{1,62}$'),
  name text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX workspaces_newest ON workspaces (created_at DESC, id DESC);

CREATE TABLE users (
  id uuid PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces (id),
  email text NOT NULL CHECK (email = lower(email collate "C")),
  name text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (workspace_id, email),
  UNIQUE (workspace_id, id)
);

CREATE INDEX users_newest ON users (workspace_id, created_at DESC, id DESC);

CREATE TABLE keys (
  id uuid PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces (id),
  -- Null once the owner is gone; the row stays as the record of a key that was in use.
  user_id uuid,
  name text NOT NULL,
  prefix text NOT NULL,
  -- SHA-256 of the key, which is kept nowhere.
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  scopes text[] NOT NULL,
  limits jsonb NOT NULL DEFAULT '{}',
  expires_at timestamptz(3),
  disabled boolean NOT NULL DEFAULT false,
  -- When a rotation made its successor; it may be valid for a while yet.
  replaced_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  FOREIGN KEY (workspace_id, user_id) REFERENCES users (workspace_id, id) ON DELETE SET NULL (user_id),
  CHECK (user_id IS NOT NULL OR revoked_at IS NOT NULL)
);

CREATE INDEX keys_newest ON keys (workspace_id, created_at DESC, id DESC) WHERE revoked_at IS NULL;
CREATE INDEX keys_of_user ON keys (user_id);

CREATE TABLE portal_sessions (
  -- SHA-256 of the cookie's value.
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  key_id uuid NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX portal_sessions_of_key ON portal_sessions (key_id);
CREATE INDEX portal_sessions_by_expiry ON portal_sessions (expires_at);

CREATE FUNCTION access_announce(hash bytea) RETURNS void LANGUAGE sql AS
$$ SELECT pg_notify('atrium_invalidate', 'access:' || encode(hash, 'hex')) $$;

CREATE FUNCTION access_hash_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op <> 'INSERT' THEN PERFORM access_announce(old.hash); END IF;
  IF tg_op <> 'DELETE' THEN PERFORM access_announce(new.hash); END IF;
  RETURN NULL;
END $$;

-- An insert counts too: that the key is unknown may be cached. Being used (last_used_at) changes nothing.
CREATE TRIGGER keys_changed
  AFTER INSERT OR DELETE OR UPDATE OF
    id, hash, workspace_id, user_id, scopes, limits, expires_at, disabled, revoked_at
  ON keys FOR EACH ROW EXECUTE FUNCTION access_hash_changed();

CREATE TRIGGER portal_sessions_changed
  AFTER DELETE OR UPDATE ON portal_sessions FOR EACH ROW EXECUTE FUNCTION access_hash_changed();

CREATE FUNCTION access_user_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM access_announce(hash) FROM keys WHERE user_id = new.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;

CREATE TRIGGER users_changed
  AFTER UPDATE OF email ON users FOR EACH ROW
  WHEN (old.email IS DISTINCT FROM new.email) EXECUTE FUNCTION access_user_changed();

CREATE FUNCTION access_user_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET revoked_at = now() WHERE user_id = old.id AND revoked_at IS NULL;
  RETURN old;
END $$;

-- Before the foreign key takes the owner away: no key outlives its person.
CREATE TRIGGER users_deleted
  BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION access_user_deleted();
