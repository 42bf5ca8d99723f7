-- The events of a conversation are found by the session that they name, and those of its messages by the message. Only the
-- service's own events name either.

CREATE INDEX usage_events_of_session ON usage_events (workspace_id, (data ->> 'chat_session_id'), created_at, id)
  WHERE source = 'atrium' AND data ->> 'chat_session_id' IS NOT NULL;

CREATE INDEX usage_events_of_message
  ON usage_events (workspace_id, (coalesce(data ->> 'message_id', data ->> 'old_message_id')))
  WHERE source = 'atrium' AND type IN ('messages.user.feedback', 'messages.user.delete', 'messages.user.update');
