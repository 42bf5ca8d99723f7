-- What the portal's lists ask for. The folders of the library, without reading the documents in them. A segment ends with a character that no folder has and that
-- sorts before all others, so that what is below a folder follows it without a gap. Documents without a folder have no entry.

CREATE FUNCTION documents_folder(object_key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT translate(substring(object_key from '^[^/]+/(.+)/[^/]+$'), '/', chr(1)) || chr(1)
$$;

CREATE INDEX documents_by_folder ON documents (workspace_id, documents_folder(object_key) COLLATE "C")
  WHERE deleted_at IS NULL AND archived_at IS NULL AND documents_folder(object_key) IS NOT NULL;

-- The conversations of one channel, newest first, however many others have.
CREATE INDEX chat_sessions_newest_of_channel ON chat_sessions (workspace_id, channel, created_at DESC, id DESC);
