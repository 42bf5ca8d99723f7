CREATE FUNCTION documents_folder(object_key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT translate(substring(object_key from '^[^/]+/(.+)/[^/]+$'), '/', chr(1)) || chr(1)
$$;

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
  -- Which of the objects under the temporary key it was: ETag, modification time and version, as the store told them.
  upload_object     text NOT NULL DEFAULT '',
  -- What the object is stored as.
  content_type      text,
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
CREATE UNIQUE INDEX documents_by_upload ON documents (workspace_id, upload_id, upload_object);
CREATE INDEX documents_by_folder ON documents (workspace_id, documents_folder(object_key) COLLATE "C")
  WHERE deleted_at IS NULL AND archived_at IS NULL AND documents_folder(object_key) IS NOT NULL;

-- Who these records are, for the mark in the bucket that says whose objects it holds: nothing is swept from a bucket
-- that belongs to another database.
CREATE TABLE documents_identity (
  id             uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Goes up by one with every sweep, and soon after documents were confirmed.
  reached        integer NOT NULL DEFAULT 0,
  -- Why nothing is swept from the bucket, in one sentence; null when all is well.
  bucket_problem text,
  -- An operator's decision, until it is carried out: the bucket is this database's, as it is.
  adopts_bucket  boolean NOT NULL DEFAULT false,
  -- What cursors of the export of passages are signed with.
  cursor_secret  bytea NOT NULL DEFAULT decode(replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-', ''), 'hex')
);

INSERT INTO documents_identity DEFAULT VALUES;

-- The copies without a record that the sweeper has decided to delete, by the id that the document would have: a confirm that comes
-- late finds the id here, and writes no record. There is one row for each copy that a crash or an outage has left behind, and it
-- stays, because no time is known after which a process that hangs cannot continue.
CREATE TABLE documents_swept (
  id uuid PRIMARY KEY
);

-- What people did with a document after its upload, which its own row states. A row is written by the statement of its
-- change, and goes with its document; docs/decisions/019 has the reasons.
CREATE TABLE document_history (
  id          bigint GENERATED ALWAYS AS IDENTITY,
  document_id uuid,
  created_at  timestamptz(3),
  action      text COLLATE "C" NOT NULL,
  actor       text NOT NULL,
  via         text NOT NULL,
  key_id      text,
  address     text,
  -- Of changed metadata: a list of fields, with short values before and after.
  changes     jsonb,
  PRIMARY KEY (document_id, created_at, id)
);

-- For the removal of old rows. They are stored in the order of time, so that a few pages describe them all.
CREATE INDEX document_history_ages ON document_history USING brin (created_at) WITH (pages_per_range = 16);

-- Every process drops what it has cached of a document as soon as a change of it commits, whoever made it.
CREATE FUNCTION documents_invalidate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('atrium_invalidate', 'documents:' || OLD.id);
  RETURN NULL;
END
$$;

CREATE FUNCTION documents_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM document_search s USING gone WHERE s.id = gone.id;
  DELETE FROM document_texts t USING gone WHERE t.id = gone.id;
  -- By an array, so that the index is used however many rows the planner has last seen.
  DELETE FROM document_history WHERE document_id = ANY (ARRAY(SELECT id FROM gone));
  RETURN NULL;
END
$$;

-- Other people may see the document now. Where it is being read, its passages may be stored before this transaction ends:
-- the lock makes them take a later number. The name puts the trigger behind the others, which take further locks.
CREATE FUNCTION documents_seen_by_others() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM document_changes WHERE workspace_id = NEW.workspace_id AND document_id = NEW.id)
    AND NOT EXISTS (SELECT FROM document_contents WHERE document_id = NEW.id AND state = 'pending')
  THEN RETURN NULL; END IF;
  number := document_feed_advance(NEW.workspace_id, 1);
  -- A thousand different readers are as good as all.
  UPDATE document_changes SET sequence = number, content_sequence = number,
    seen_by_all = seen_by_all OR OLD.status = 'public' OR cardinality(seen_by) > 1000,
    seen_by = CASE WHEN seen_by_all OR cardinality(seen_by) > 1000 THEN seen_by ELSE ARRAY(
      SELECT unnest(seen_by) UNION SELECT unnest(OLD.curators) UNION SELECT OLD.owner_id::text) END
  WHERE workspace_id = NEW.workspace_id AND document_id = NEW.id;
  RETURN NULL;
END
$$;

-- The row of a purged document remains as its tombstone. It is in the bin before, so that `seen_by` is complete.
CREATE FUNCTION documents_purged() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feed record;
  last bigint;
BEGIN
  -- In one order, so that two transactions over several workspaces never wait for each other in a circle.
  FOR feed IN
    SELECT workspace_id, array_agg(document_id) AS documents
    FROM gone JOIN document_changes USING (workspace_id) WHERE document_id = id GROUP BY 1 ORDER BY 1
  LOOP
    last := document_feed_advance(feed.workspace_id, cardinality(feed.documents));
    UPDATE document_changes c SET sequence = last - place + 1, content_sequence = last - place + 1,
      purged_at = clock_timestamp()
    FROM unnest(feed.documents) WITH ORDINALITY AS purged (id, place)
    WHERE c.workspace_id = feed.workspace_id AND c.document_id = purged.id;
  END LOOP;
  RETURN NULL;
END
$$;

CREATE TRIGGER documents_forget AFTER DELETE ON documents
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION documents_forget();

CREATE TRIGGER documents_seen_by_others AFTER UPDATE OF status, archived_at, owner_id, curators ON documents
  FOR EACH ROW WHEN ((OLD.status, OLD.owner_id, OLD.curators, OLD.archived_at IS NULL)
    IS DISTINCT FROM (NEW.status, NEW.owner_id, NEW.curators, NEW.archived_at IS NULL))
  EXECUTE FUNCTION documents_seen_by_others();

CREATE TRIGGER documents_purged AFTER DELETE ON documents
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION documents_purged();

CREATE TRIGGER documents_invalidate AFTER UPDATE ON documents FOR EACH ROW
  WHEN ((OLD.id, OLD.workspace_id, OLD.owner_id, OLD.name, OLD.object_key, OLD.file_type, OLD.content_type, OLD.curators, OLD.status)
    IS DISTINCT FROM
    (NEW.id, NEW.workspace_id, NEW.owner_id, NEW.name, NEW.object_key, NEW.file_type, NEW.content_type, NEW.curators, NEW.status))
  EXECUTE FUNCTION documents_invalidate();

CREATE TRIGGER documents_gone AFTER DELETE ON documents FOR EACH ROW EXECUTE FUNCTION documents_invalidate();
