-- One outbox for every usage event whose cause is a transaction: its row is committed with its cause, and moved from there
-- into usage_events (src/usage/mover.ts). It is the conversations' outbox under another name.
ALTER TABLE chat_outbox RENAME TO usage_outbox;
ALTER INDEX chat_outbox_pkey RENAME TO usage_outbox_pkey;
ALTER SEQUENCE chat_outbox_id_seq RENAME TO usage_outbox_id_seq;

-- Processes of the version before, which go on during an upgrade, record and delete its rows under the old name. A row that
-- is moved and recorded has the same identity (workspace, event_id, source) both times, so that it is stored once.
-- The key of the table is not found under that name; no version from this one on has named it in an ON CONFLICT:
-- compatible from: 0009
CREATE VIEW chat_outbox AS SELECT * FROM usage_outbox;

-- The functions of conversations (0007, 0009), with the table's new name. They return the rows as before.
DO $$
DECLARE
  definition text;
BEGIN
  FOR definition IN
    SELECT replace(pg_get_functiondef(oid), 'INSERT INTO chat_outbox', 'INSERT INTO usage_outbox') FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND proname IN ('chat_accept', 'chat_finish')
  LOOP
    EXECUTE definition;
  END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION chat_tell(about_workspace text, event_type text, event_subject text, event_data json)
RETURNS json LANGUAGE sql AS $$
  INSERT INTO usage_outbox (workspace_id, type, subject, data)
  VALUES (about_workspace, event_type, event_subject, event_data)
  RETURNING row_to_json(usage_outbox)
$$;

-- Puts an event into the outbox, for the statement that causes it to call in what it selects.
CREATE FUNCTION usage_tell(about_workspace text, event_type text, event_subject text, event_data json)
RETURNS boolean LANGUAGE sql AS $$
  INSERT INTO usage_outbox (workspace_id, type, subject, data)
  VALUES (about_workspace, event_type, event_subject, event_data)
  RETURNING true
$$;
