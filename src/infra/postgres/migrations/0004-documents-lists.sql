-- The lists of the bin and the archive, and their counts, without reading what belongs to others or is not shown.

CREATE INDEX documents_in_own_bin ON documents (workspace_id, owner_id, deleted_at, id) WHERE deleted_at IS NOT NULL;

DROP INDEX documents_archived;
CREATE INDEX documents_archived ON documents (workspace_id, archived_at DESC, id DESC)
  WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
