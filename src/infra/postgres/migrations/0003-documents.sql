-- Documents: one row a confirmed upload. The object lives in the store under object_key.

CREATE TABLE documents (
  id                uuid PRIMARY KEY,
  workspace_id      text NOT NULL,
  -- The identifier in the temporary key: one upload makes one document, however often it is confirmed.
  upload_id         uuid NOT NULL,
  owner_id          uuid NOT NULL,
  name              text NOT NULL,
  object_key        text NOT NULL,
  created_at        timestamptz(3) NOT NULL DEFAULT now(),
  file_size         bigint,
  file_type         text,
  file_hash         text,
  tags              text[],
  categories        text[],
  summary           text,
  access            jsonb,
  slots             jsonb,
  -- access.curators, trimmed and lower-cased: what permission checks read.
  curators          text[] NOT NULL DEFAULT '{}',
  status            text NOT NULL CHECK (status IN ('public', 'private', 'deleted')),
  status_before_bin text CHECK (status_before_bin IN ('public', 'private')),
  deleted_at        timestamptz(3),
  archived_at       timestamptz(3),
  UNIQUE (workspace_id, upload_id),
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  CHECK ((status = 'deleted') = (status_before_bin IS NOT NULL))
);

CREATE INDEX documents_by_name ON documents (workspace_id, name, created_at DESC, id DESC);
-- The lists of the bin and the archive, and their counts, without reading what belongs to others or is not shown.
CREATE INDEX documents_in_bin ON documents (workspace_id, deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_in_own_bin ON documents (workspace_id, owner_id, deleted_at, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_archived ON documents (workspace_id, archived_at DESC, id DESC)
  WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
-- For the retention job, which asks across workspaces.
CREATE INDEX documents_by_deletion ON documents (deleted_at) WHERE deleted_at IS NOT NULL;

-- Every process drops what it has cached of a document as soon as a change of it commits, whoever made it.
CREATE FUNCTION documents_invalidate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('atrium_invalidate', 'documents:' || OLD.id);
  RETURN NULL;
END
$$;

CREATE TRIGGER documents_invalidate AFTER UPDATE OR DELETE ON documents
  FOR EACH ROW EXECUTE FUNCTION documents_invalidate();

-- Who these records are, for the mark in the bucket that says whose objects it holds: nothing is swept from a bucket
-- that belongs to another database.
CREATE TABLE documents_identity (id uuid NOT NULL DEFAULT gen_random_uuid());
INSERT INTO documents_identity DEFAULT VALUES;
