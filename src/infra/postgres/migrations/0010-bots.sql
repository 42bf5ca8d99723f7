CREATE TABLE bots (
  workspace_id text COLLATE "C" REFERENCES workspaces(id),
  id           text COLLATE "C" CHECK (length(id) <= 128),
  verification jsonb NOT NULL,
  agent_id     text,
  welcome_text text,
  commands     jsonb NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  updated_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, id)
);

CREATE INDEX bots_newest ON bots (workspace_id, created_at DESC, id DESC);

-- Answers to events, for those that come again. They outlive their bot: a platform may still repeat itself.
CREATE TABLE bot_replies (
  workspace_id text COLLATE "C",
  bot_id       text COLLATE "C",
  -- SHA-256 of what tells an event from others.
  event_hash   bytea CHECK (octet_length(event_hash) = 32),
  -- Text as JSON.stringify writes it.
  message      json NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, bot_id, event_hash)
);

CREATE INDEX bot_replies_by_time ON bot_replies (created_at);

CREATE FUNCTION bots_announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF tg_op <> 'INSERT' THEN
    PERFORM pg_notify('atrium_invalidate', 'bots:' || old.workspace_id || '/' || old.id);
  END IF;
  IF tg_op <> 'DELETE' THEN
    PERFORM pg_notify('atrium_invalidate', 'bots:' || new.workspace_id || '/' || new.id);
  END IF;
  RETURN NULL;
END $$;

-- An insert counts too: that there is no such bot may be cached.
CREATE TRIGGER bots_changed
  AFTER INSERT OR UPDATE OR DELETE ON bots FOR EACH ROW EXECUTE FUNCTION bots_announce();
