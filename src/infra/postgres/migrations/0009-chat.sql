-- In order of arrival: a question and its answer are numbered together, before the answer is made.
CREATE SEQUENCE chat_message_ids;

CREATE TABLE chat_agents (
  workspace_id text COLLATE "C" REFERENCES workspaces(id),
  id           text COLLATE "C",
  name         text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('persona', 'agent', 'bot')),
  is_default   boolean NOT NULL,
  -- Model, instructions and the like: what only the agent's own turns read.
  settings     json NOT NULL,
  created_at   timestamptz(3) NOT NULL DEFAULT now(),
  updated_at   timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);

CREATE INDEX chat_agents_newest ON chat_agents (workspace_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX chat_agents_default ON chat_agents (workspace_id) WHERE is_default;

CREATE TABLE chat_sessions (
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id       text COLLATE "C" NOT NULL,
  -- A digest of workspace, channel, plugin, channel id and the channel's session: they may be too long for an index.
  key                uuid NOT NULL,
  channel            text NOT NULL,
  channel_plugin     text NOT NULL,
  channel_id         text NOT NULL,
  channel_session_id text NOT NULL,
  persona_id         bigint NOT NULL,
  agi_id             text NOT NULL,
  title              text,
  person             text NOT NULL,
  -- Whose documents the questions of an administrator read here, where that is not the person: an event that a key has brought
  -- only claims its person.
  reads_as           text,
  -- The end of the branch that the conversation goes on with.
  head_id            bigint,
  -- Without answers that are being made, which are `pending`.
  message_count      integer NOT NULL DEFAULT 0,
  pending            integer NOT NULL DEFAULT 0,
  created_at         timestamptz(3) NOT NULL DEFAULT now(),
  updated_at         timestamptz(3) NOT NULL DEFAULT now(),
  -- `''`: nobody's, as those of bots and of people who are gone; administrators alone see them.
  user_id            text COLLATE "C" NOT NULL,
  CONSTRAINT chat_sessions_key UNIQUE (key, user_id)
) WITH (fillfactor = 80);

CREATE INDEX chat_sessions_newest ON chat_sessions (workspace_id, created_at DESC, id DESC);
CREATE INDEX chat_sessions_of_user ON chat_sessions (workspace_id, user_id, created_at DESC, id DESC);
-- The conversations of one channel, newest first, however many others have.
CREATE INDEX chat_sessions_newest_of_channel ON chat_sessions (workspace_id, channel, created_at DESC, id DESC);

CREATE TABLE chat_messages (
  id                 bigint PRIMARY KEY DEFAULT nextval('chat_message_ids'),
  -- No foreign key, which would cost each message as much as its insertion: a message is only ever inserted under the
  -- lock of its session, and deleted with it.
  session_id         bigint NOT NULL,
  workspace_id       text COLLATE "C" NOT NULL,
  parent_id          bigint,
  role               text NOT NULL CHECK (role IN ('user', 'assistant', 'agent')),
  message            text NOT NULL,
  channel_message_id text,
  -- A digest of what must not be taken twice within the session.
  request_key        uuid,
  -- Of a question: its answer.
  answer_id          bigint,
  agent_id           text,
  citations          json,
  feedback           json,
  -- Of an answer.
  state              text CHECK (state IN ('pending', 'done', 'failed')),
  model              text,
  finish_reason      text,
  prompt_tokens      integer,
  completion_tokens  integer,
  error_msg          text,
  error_kind         text,
  retry_after        integer,
  -- Of a pending answer: its place in the queue of the session, the process that makes it, and how many processes began it since the
  -- question was last asked. Only the attempt of this place and number may store the answer.
  place              bigint,
  owner              uuid,
  attempts           integer,
  -- Another process waits for the answer, too.
  watched            boolean NOT NULL DEFAULT false,
  -- Somebody stopped the answer: the text so far is the answer.
  stopped            boolean NOT NULL DEFAULT false,
  caller             json,
  deleted_at         timestamptz(3),
  created_at         timestamptz(3) NOT NULL DEFAULT now(),
  -- Of a question that named its agent: who answers it, also when it is edited.
  asked_agent_id     text,
  CHECK ((state = 'pending') = (owner IS NOT NULL))
);

CREATE INDEX chat_messages_of_session ON chat_messages (session_id, id);
CREATE UNIQUE INDEX chat_messages_requests ON chat_messages (session_id, request_key) WHERE request_key IS NOT NULL;
CREATE INDEX chat_messages_line ON chat_messages (session_id, place) WHERE state = 'pending';

-- The leases of processes that make answers. If one has expired, other processes make its answers.
CREATE TABLE chat_processes (
  id          uuid PRIMARY KEY,
  alive_until timestamptz NOT NULL
);

CREATE FUNCTION chat_agents_announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('atrium_invalidate', 'chat-agents:');
  RETURN NULL;
END $$;

CREATE TRIGGER chat_agents_changed
  AFTER INSERT OR UPDATE OR DELETE ON chat_agents FOR EACH STATEMENT EXECUTE FUNCTION chat_agents_announce();
