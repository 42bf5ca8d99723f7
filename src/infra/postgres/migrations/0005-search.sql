CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE SEQUENCE search_outbox_sequence;

-- Status and archive as one number: 0 public, 1 private, 2 binned; 3 more when archived.
CREATE FUNCTION document_class(status text, archived_at timestamptz) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (CASE status WHEN 'public' THEN 0 WHEN 'private' THEN 1 ELSE 2 END
          + CASE WHEN archived_at IS NULL THEN 0 ELSE 3 END)::smallint
$$;

-- One narrow row a document. Text is normalised by the service (search/terms.ts).
CREATE TABLE document_search (
  id           uuid PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  class        smallint NOT NULL,
  owner_id     uuid NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  name         text COLLATE "C" NOT NULL,
  file_size    bigint,
  file_type    text COLLATE "C",
  file_hash    text COLLATE "C",
  -- Digests of what the document has: its tags, owner, type and so on (search/entry.ts).
  terms        uuid[] NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000
);

-- Who sees a document is in the index, so that documents are counted without reading their rows.
CREATE INDEX document_search_by_time ON document_search (workspace_id, created_at, id) INCLUDE (class, owner_id);
CREATE INDEX document_search_by_name ON document_search (workspace_id, name, id);
CREATE INDEX document_search_by_size ON document_search (workspace_id, file_size, id) INCLUDE (class, owner_id);
CREATE INDEX document_search_name_parts ON document_search
  USING gin (workspace_id, name gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX document_search_terms ON document_search USING gin (terms) WITH (fastupdate = off);

-- The mirror: which index of the search server is fed, and the documents whose last change it may not have yet. No row: none is.
CREATE TABLE search_mirror (
  index_uid      text PRIMARY KEY,
  -- Of mapping and settings: another version needs a new index.
  version        text NOT NULL,
  -- It has every document that does not wait in the outbox.
  ready          boolean NOT NULL DEFAULT false,
  -- When the server made it, as the server says: what has its name and another time is another index.
  server_made_at text NOT NULL DEFAULT '',
  -- The last task that is known to be done; a server that knows no task as new has lost what it had.
  task           bigint NOT NULL DEFAULT -1
) WITH (fillfactor = 50);

CREATE TABLE search_outbox (
  document_id  uuid PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  -- Of the last change: whoever has sent an earlier one has not sent this one.
  sequence     bigint NOT NULL DEFAULT nextval('search_outbox_sequence'),
  queued_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why the search server refused it; it is not sent again before it changes.
  refusal      text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, vacuum_truncate = off);

CREATE INDEX search_outbox_by_workspace ON search_outbox (workspace_id, document_id);
CREATE INDEX search_outbox_to_send ON search_outbox (sequence) WHERE refusal IS NULL;

-- Version of the form in which search rows are written; an older one is written anew at start.
CREATE TABLE document_search_form (
  version integer NOT NULL
);

INSERT INTO document_search_form VALUES (0);

CREATE FUNCTION search_outbox_add(ids uuid[], workspaces text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM search_mirror) THEN RETURN; END IF;
  -- In one order, so that two who change the same documents wait for each other and never in a circle.
  INSERT INTO search_outbox (document_id, workspace_id)
  SELECT * FROM unnest(ids, workspaces) AS changed (id, workspace_id) ORDER BY id
  ON CONFLICT (document_id) DO UPDATE
    SET sequence = nextval('search_outbox_sequence'), queued_at = clock_timestamp(), refusal = NULL;
END
$$;

-- The mirror is told of every changed row, in the transaction of the change.
CREATE FUNCTION document_search_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM changed;
  RETURN NULL;
END
$$;

-- Bin, restore, archive and purge concern search only in this: the text stays as it was written.
CREATE FUNCTION documents_reclass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE document_search SET class = document_class(NEW.status, NEW.archived_at) WHERE id = NEW.id;
  RETURN NULL;
END
$$;

CREATE TRIGGER document_search_inserted AFTER INSERT ON document_search
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION document_search_changed();

CREATE TRIGGER document_search_updated AFTER UPDATE ON document_search
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION document_search_changed();

CREATE TRIGGER document_search_deleted AFTER DELETE ON document_search
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION document_search_changed();

CREATE TRIGGER documents_reclass AFTER UPDATE OF status, archived_at ON documents
  FOR EACH ROW WHEN (document_class(OLD.status, OLD.archived_at) <> document_class(NEW.status, NEW.archived_at))
  EXECUTE FUNCTION documents_reclass();
