-- In order of arrival: a question and its answer are numbered together, before the answer is made.
CREATE SEQUENCE chat_message_ids;

-- Places in a session's line; a question that is asked again stands in line again.
CREATE SEQUENCE chat_places;

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
  -- Grows when something is deleted: what processes remember of the conversation is outdated.
  history_version    integer NOT NULL DEFAULT 0,
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
  -- Of an answer that is pending: where it stands in line, and the process that is to make it.
  place              bigint,
  owner              uuid,
  attempts           integer,
  claimed_at         timestamptz,
  -- Another process waits for it, too.
  watched            boolean NOT NULL DEFAULT false,
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

-- Processes that make answers. One whose time is over is dead: others make its answers.
CREATE TABLE chat_processes (
  id           uuid PRIMARY KEY,
  alive_until  timestamptz NOT NULL,
  -- After the database was away every process has been silent for too long. So one that was silent lets the others give a
  -- sign first: it says that another is dead only from `judges_from` on, and only until its own next sign is overdue.
  judges_from  timestamptz NOT NULL DEFAULT 'infinity',
  judges_until timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE FUNCTION chat_agents_announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('atrium_invalidate', 'chat-agents:');
  RETURN NULL;
END $$;

CREATE FUNCTION chat_tell(about_workspace text, event_type text, event_subject text, event_data json)
RETURNS json LANGUAGE sql AS $$
  INSERT INTO usage_outbox (workspace_id, type, subject, data)
  VALUES (about_workspace, event_type, event_subject, event_data)
  RETURNING row_to_json(usage_outbox)
$$;

-- Dead is who has left, and who gave no sign for its time while another one gave them all.
CREATE FUNCTION chat_is_alive(process uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM chat_processes p WHERE p.id = process AND (
    p.alive_until > clock_timestamp()
    OR NOT EXISTS (SELECT FROM chat_processes w
      WHERE clock_timestamp() >= w.judges_from AND clock_timestamp() < w.judges_until)))
$$;

-- Stores an answer that stands before, with the question that it answers where there is one.
CREATE FUNCTION chat_reply(
  in_workspace text, in_session uuid, in_request uuid, in_message text, in_channel_message text, in_reply text,
  in_subject text,
  OUT outcome text, OUT answer text, OUT events json
) LANGUAGE plpgsql AS $$
DECLARE
  here      chat_sessions;
  known     chat_messages;
  user_id   bigint;
  reply_id  bigint;
  asked     json;
  answered  json;
BEGIN
  SELECT * INTO here FROM chat_sessions s WHERE s.key = in_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN outcome := 'no session'; RETURN; END IF;
  SELECT * INTO known FROM chat_messages m WHERE m.session_id = here.id AND m.request_key = in_request;
  IF FOUND THEN
    outcome := 'known';
    SELECT m.message INTO answer FROM chat_messages m
      WHERE m.id = coalesce(known.answer_id, known.id) AND m.state = 'done';
    answer := coalesce(answer, in_reply);
    RETURN;
  END IF;
  outcome := 'stored';
  answer := in_reply;
  IF in_message IS NOT NULL THEN user_id := nextval('chat_message_ids'); END IF;
  reply_id := nextval('chat_message_ids');
  IF in_message IS NOT NULL THEN
    INSERT INTO chat_messages
      (id, session_id, workspace_id, parent_id, role, message, channel_message_id, request_key, answer_id)
      VALUES (user_id, here.id, in_workspace, here.head_id, 'user', in_message, in_channel_message, in_request, reply_id);
    asked := chat_tell(in_workspace, 'messages.user.new', in_subject,
      json_build_object('value', '1', 'message_id', user_id, 'chat_session_id', here.id));
  END IF;
  INSERT INTO chat_messages
    (id, session_id, workspace_id, parent_id, role, message, request_key, state, attempts, finish_reason,
     prompt_tokens, completion_tokens)
    VALUES (reply_id, here.id, in_workspace, coalesce(user_id, here.head_id), 'assistant', in_reply,
     CASE WHEN in_message IS NULL THEN in_request END, 'done', 1, 'stop', 0, 0);
  answered := chat_tell(in_workspace, 'messages.rag.bot.new', in_subject,
    json_build_object('value', '1', 'message_id', reply_id, 'chat_session_id', here.id));
  UPDATE chat_sessions s SET
    head_id = reply_id, message_count = s.message_count + CASE WHEN in_message IS NULL THEN 1 ELSE 2 END,
    updated_at = clock_timestamp() WHERE s.id = here.id;
  events := CASE WHEN asked IS NULL THEN json_build_array(answered) ELSE json_build_array(asked, answered) END;
END $$;

-- The agent of the first of the ids that is one's, else the workspace's default.
CREATE FUNCTION chat_agent(in_workspace text, in_ids text[]) RETURNS SETOF chat_agents LANGUAGE sql STABLE AS $$
  SELECT * FROM chat_agents a WHERE a.workspace_id = in_workspace AND (a.id = ANY (in_ids) OR a.is_default)
  ORDER BY array_position(in_ids, a.id::text) NULLS LAST LIMIT 1
$$;

-- Takes a question: outcome `accepted` (and whether it is the first in its line), `done` or `in flight` for one that was
-- taken before, or why it is not taken: `no session`, `no message`, `deleted`, `other text`, `full`, and `no documents`
-- where the agent has knowledge of documents and the caller's key reads none (`readsAs` is null). What an administrator
-- asks in another's session is answered from what that person may see, who reads the answer, too.
CREATE FUNCTION chat_accept(
  in_workspace text, in_session uuid, in_user text, in_admin boolean, in_replaces bigint, in_request uuid,
  in_message text, in_channel_message text, in_channel_answer text, in_agent text, in_owner uuid, in_caller json,
  in_pending_max integer,
  OUT outcome text, OUT session_id bigint, OUT channel_session_id text, OUT persona_id bigint, OUT agi_id text,
  OUT history_version integer, OUT parent_id bigint, OUT user_message_id bigint, OUT answer_id bigint,
  OUT channel_message_id text, OUT channel_answer_id text, OUT attempt integer, OUT is_first boolean,
  OUT agent_id text, OUT caller json, OUT event json
) LANGUAGE plpgsql AS $$
DECLARE
  replaced chat_messages;
  here     chat_sessions;
  question chat_messages;
  answer   chat_messages;
  my_place bigint;
  seen     bigint;
BEGIN
  IF in_replaces IS NULL THEN
    SELECT * INTO here FROM chat_sessions s WHERE s.key = in_session AND (in_admin OR s.user_id = in_user)
      ORDER BY s.user_id = in_user DESC, s.id LIMIT 1;
  ELSE
    SELECT * INTO replaced FROM chat_messages m
      WHERE m.id = in_replaces AND m.workspace_id = in_workspace AND m.role = 'user' AND m.deleted_at IS NULL;
    IF NOT FOUND THEN outcome := 'no message'; RETURN; END IF;
    SELECT * INTO here FROM chat_sessions s WHERE s.id = replaced.session_id;
    IF NOT (in_admin OR here.user_id = in_user) THEN outcome := 'no message'; RETURN; END IF;
  END IF;
  IF here.id IS NULL THEN outcome := 'no session'; RETURN; END IF;
  session_id := here.id;

  LOOP
    -- What is answered already changes nothing, and waits for no lock.
    SELECT * INTO question FROM chat_messages m WHERE m.session_id = here.id AND m.request_key = in_request;
    IF FOUND THEN
      user_message_id := question.id;
      answer_id := question.answer_id;
      IF question.deleted_at IS NOT NULL THEN outcome := 'deleted'; RETURN; END IF;
      IF question.message <> in_message THEN outcome := 'other text'; RETURN; END IF;
      IF (SELECT m.state FROM chat_messages m WHERE m.id = question.answer_id) = 'done' THEN outcome := 'done'; RETURN; END IF;
    END IF;

    seen := here.head_id;
    SELECT * INTO here FROM chat_sessions s WHERE s.id = session_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN outcome := 'no session'; RETURN; END IF;
    -- Somebody was faster, before the lock, and it may have been this question.
    CONTINUE WHEN question.id IS NULL AND here.head_id IS DISTINCT FROM seen;
    channel_session_id := here.channel_session_id;
    persona_id := here.persona_id;
    agi_id := here.agi_id;
    history_version := here.history_version;
    IF question.id IS NOT NULL THEN
      SELECT * INTO answer FROM chat_messages m WHERE m.id = question.answer_id;
      IF answer.deleted_at IS NOT NULL THEN outcome := 'deleted'; RETURN; END IF;
      IF answer.state = 'done' THEN outcome := 'done'; RETURN; END IF;
      IF answer.state = 'pending' AND (answer.owner = in_owner OR chat_is_alive(answer.owner)) THEN
        IF answer.owner <> in_owner AND NOT answer.watched THEN
          UPDATE chat_messages m SET watched = true WHERE m.id = answer.id;
        END IF;
        outcome := 'in flight';
        RETURN;
      END IF;
    END IF;
    agent_id := coalesce(in_agent, question.asked_agent_id, replaced.asked_agent_id);
    caller := in_caller;
    IF in_caller ->> 'readsAs' IS NULL THEN
      PERFORM FROM chat_agent(in_workspace, ARRAY[agent_id, here.agi_id, here.persona_id::text]) a
        WHERE a.kind <> 'bot' AND a.settings ->> 'knowledge' = 'documents';
      IF FOUND THEN outcome := 'no documents'; RETURN; END IF;
    ELSIF here.user_id <> in_user THEN
      caller := (in_caller::jsonb || jsonb_build_object('readsAs', coalesce(here.reads_as, here.person)))::json;
    END IF;
    IF here.pending >= in_pending_max AND answer.state IS DISTINCT FROM 'pending' THEN outcome := 'full'; RETURN; END IF;
    outcome := 'accepted';

    IF question.id IS NOT NULL THEN
      -- Failed before, or left by a process that died.
      parent_id := question.parent_id;
      channel_message_id := question.channel_message_id;
      channel_answer_id := answer.channel_message_id;
      my_place := coalesce(answer.place, nextval('chat_places'));
      UPDATE chat_messages m SET
        state = 'pending', place = my_place, owner = in_owner, attempts = m.attempts + 1, claimed_at = clock_timestamp(),
        caller = chat_accept.caller, error_msg = NULL, error_kind = NULL, retry_after = NULL
        WHERE m.id = answer.id RETURNING m.attempts INTO attempt;
      IF answer.state = 'failed' THEN
        UPDATE chat_sessions s SET message_count = s.message_count - 1, pending = s.pending + 1 WHERE s.id = here.id;
        is_first := here.pending = 0;
      ELSE
        is_first := NOT EXISTS (SELECT FROM chat_messages m
          WHERE m.session_id = here.id AND m.state = 'pending' AND m.place < my_place);
      END IF;
      RETURN;
    END IF;

    user_message_id := nextval('chat_message_ids');
    answer_id := nextval('chat_message_ids');
    parent_id := CASE WHEN in_replaces IS NULL THEN here.head_id ELSE replaced.parent_id END;
    channel_message_id := coalesce(in_channel_message, replaced.channel_message_id);
    channel_answer_id := in_channel_answer;
    IF in_replaces IS NOT NULL THEN
      SELECT m.channel_message_id INTO channel_answer_id FROM chat_messages m WHERE m.id = replaced.answer_id;
    END IF;
    attempt := 1;
    is_first := here.pending = 0;
    INSERT INTO chat_messages
      (id, session_id, workspace_id, parent_id, role, message, channel_message_id, request_key, answer_id, asked_agent_id,
       agent_id, state, place, owner, attempts, claimed_at, caller)
      VALUES
      (user_message_id, here.id, in_workspace, parent_id, 'user', in_message, channel_message_id, in_request, answer_id,
       agent_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
      (answer_id, here.id, in_workspace, user_message_id, 'assistant', '', channel_answer_id, NULL, NULL, NULL,
       agent_id, 'pending', nextval('chat_places'), in_owner, attempt, clock_timestamp(), caller);
    UPDATE chat_sessions s SET
      head_id = answer_id, message_count = s.message_count + 1, pending = s.pending + 1, updated_at = clock_timestamp()
      WHERE s.id = here.id;
    INSERT INTO usage_outbox AS o (workspace_id, type, subject, data)
      VALUES (in_workspace, CASE WHEN in_replaces IS NULL THEN 'messages.user.new' ELSE 'messages.user.update' END,
        in_caller ->> 'email', CASE WHEN in_replaces IS NULL
          THEN json_build_object('value', '1', 'message_id', user_message_id, 'chat_session_id', here.id)
          ELSE json_build_object('value', '1', 'old_message_id', in_replaces, 'new_message_id', user_message_id) END)
      RETURNING row_to_json(o) INTO event;
    RETURN;
  END LOOP;
END $$;

-- Stores how a question was answered, or that it was not: outcome `stored`; `superseded` where another process has
-- taken it over; `gone` where the session was deleted. Whoever is next in line is told, unless it is the
-- caller, who has to know the `history_version` for it.
CREATE FUNCTION chat_finish(
  in_session bigint, in_answer bigint, in_owner uuid, in_attempt integer, in_subject text,
  in_state text, in_message text, in_citations json, in_agent text, in_event_type text, in_model text,
  in_finish_reason text, in_prompt_tokens integer, in_completion_tokens integer,
  in_error_msg text, in_error_kind text, in_retry_after integer,
  OUT outcome text, OUT next_id bigint, OUT created_at timestamptz, OUT history_version integer, OUT event json
) LANGUAGE plpgsql AS $$
DECLARE
  answer     chat_messages;
  waiting    integer;
  next_owner uuid;
BEGIN
  UPDATE chat_sessions s SET message_count = s.message_count + 1, pending = s.pending - 1, updated_at = clock_timestamp()
    WHERE s.id = in_session RETURNING s.pending, s.history_version INTO waiting, history_version;
  IF NOT FOUND THEN outcome := 'gone'; RETURN; END IF;
  UPDATE chat_messages m SET
    state = in_state, message = CASE WHEN m.deleted_at IS NULL THEN in_message ELSE '' END,
    citations = CASE WHEN m.deleted_at IS NULL THEN in_citations END,
    agent_id = coalesce(in_agent, m.agent_id), model = in_model, finish_reason = in_finish_reason,
    prompt_tokens = in_prompt_tokens, completion_tokens = in_completion_tokens,
    error_msg = in_error_msg, error_kind = in_error_kind, retry_after = in_retry_after,
    place = NULL, owner = NULL, claimed_at = NULL, caller = NULL, created_at = clock_timestamp()
    WHERE m.id = in_answer AND m.state = 'pending' AND m.owner = in_owner AND m.attempts = in_attempt
    RETURNING * INTO answer;
  IF NOT FOUND OR answer.deleted_at IS NOT NULL THEN
    UPDATE chat_sessions s SET
      message_count = s.message_count - 1, pending = s.pending + CASE WHEN answer.id IS NULL THEN 1 ELSE 0 END
      WHERE s.id = in_session;
  END IF;
  IF answer.id IS NULL THEN outcome := 'superseded'; RETURN; END IF;
  outcome := 'stored';
  created_at := answer.created_at;
  IF in_event_type IS NOT NULL AND answer.deleted_at IS NULL THEN
    INSERT INTO usage_outbox AS o (workspace_id, type, subject, data)
      VALUES (answer.workspace_id, in_event_type, in_subject,
        json_build_object('value', '1', 'message_id', answer.id, 'chat_session_id', in_session))
      RETURNING row_to_json(o) INTO event;
  END IF;
  IF answer.watched THEN PERFORM pg_notify('atrium_invalidate', 'chat-over:' || answer.id); END IF;
  IF waiting > 0 THEN
    SELECT m.id, m.owner INTO next_id, next_owner FROM chat_messages m
      WHERE m.session_id = in_session AND m.state = 'pending' ORDER BY m.place LIMIT 1;
    IF next_owner <> in_owner THEN PERFORM pg_notify('atrium_invalidate', 'chat-first:' || next_id); END IF;
  END IF;
END $$;

CREATE FUNCTION chat_delete_session(in_workspace text, in_session bigint, in_user text, in_admin boolean, in_subject text)
RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM chat_sessions s WHERE s.id = in_session AND s.workspace_id = in_workspace
    AND (in_admin OR s.user_id = in_user);
  IF NOT FOUND THEN RETURN NULL; END IF;
  DELETE FROM chat_messages m WHERE m.session_id = in_session;
  RETURN chat_tell(in_workspace, 'chat.delete', in_subject,
    json_build_object('value', '1', 'chat_session_id', in_session));
END $$;

CREATE TRIGGER chat_agents_changed
  AFTER INSERT OR UPDATE OR DELETE ON chat_agents FOR EACH STATEMENT EXECUTE FUNCTION chat_agents_announce();
