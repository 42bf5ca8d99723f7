-- Search: what filters compare, in normalised form, and the indexes that serve them. docs/decisions/005 says why
-- it stands apart from the documents themselves, and what each table buys.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Visibility as one number, which leads every index: 0 public, 1 private, 2 binned; 3 more when archived.
CREATE FUNCTION document_class(status text, archived_at timestamptz) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (CASE status WHEN 'public' THEN 0 WHEN 'private' THEN 1 ELSE 2 END
          + CASE WHEN archived_at IS NULL THEN 0 ELSE 3 END)::smallint
$$;

-- One narrow row a document. Text is normalised by the service (filter/normalise.ts).
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
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 5000);

CREATE INDEX document_search_by_time ON document_search (workspace_id, class, created_at, id);
CREATE INDEX document_search_by_name ON document_search (workspace_id, class, name, id);
CREATE INDEX document_search_by_size ON document_search (workspace_id, class, file_size, id);
CREATE INDEX document_search_long_names ON document_search (workspace_id) WHERE octet_length(name) > 460;
CREATE INDEX document_search_name_parts ON document_search
  USING gin (workspace_id, name gin_trgm_ops) WITH (fastupdate = off);

-- What is long, or seldom compared.
CREATE TABLE document_texts (
  id         uuid PRIMARY KEY,
  object_key text COLLATE "C" NOT NULL,
  summary    text COLLATE "C",
  -- Top-level key → its leaves; keys whose value is empty are left out.
  access     jsonb,
  slots      jsonb,
  -- Each word, led by a digest of the workspace: one index serves every workspace without reading the others'.
  words      tsvector NOT NULL,
  -- False when there were too many words for one document.
  complete   boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE INDEX document_texts_words ON document_texts USING gin (words) WITH (fastupdate = off);
CREATE INDEX document_texts_incomplete ON document_texts (id) WHERE NOT complete;

-- Every word that some document had, for finding those that a mistyped one may mean.
CREATE TABLE document_words (word text COLLATE "C" PRIMARY KEY);
CREATE INDEX document_words_parts ON document_words USING gin (word gin_trgm_ops) WITH (fastupdate = off);

-- Who has a term, in order of time: counted and walked without touching the documents.
CREATE TABLE document_postings (
  term       uuid NOT NULL,
  class      smallint NOT NULL,
  created_at timestamptz(3) NOT NULL,
  id         uuid NOT NULL,
  PRIMARY KEY (term, class, created_at, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000);

-- How many documents there are, by day; subject is an owner, or nobody's id for all. Changes are added as rows of
-- their own, so that no two writers wait for one counter, and folded in by a job.
CREATE TABLE document_counts (
  workspace_id text COLLATE "C" NOT NULL,
  class        smallint NOT NULL,
  subject      uuid NOT NULL,
  day          date NOT NULL,
  documents    bigint NOT NULL,
  PRIMARY KEY (workspace_id, class, subject, day)
) WITH (fillfactor = 70);
CREATE TABLE document_count_changes (
  workspace_id text COLLATE "C" NOT NULL,
  class        smallint NOT NULL,
  owner_id     uuid NOT NULL,
  day          date NOT NULL,
  documents    integer NOT NULL
) WITH (vacuum_truncate = off);

-- The mirror: which indexes of the search server are fed, and the documents whose last change they may not have yet.
CREATE TABLE search_mirror (
  index_uid text PRIMARY KEY,
  -- Of mapping and settings: another version needs a new index.
  version   text NOT NULL,
  -- It has every document that does not wait in the outbox.
  ready     boolean NOT NULL DEFAULT false,
  -- Somebody asked for a new one.
  outdated  boolean NOT NULL DEFAULT false,
  -- While it is filled: how far, in order of id.
  copied_to uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  -- When the server made it, as the server says: what has its name and another time is another index.
  server_made_at text,
  -- The last task that is known to be done; a server that knows no task as new has lost what it had.
  task      bigint NOT NULL DEFAULT -1,
  made_at   timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX search_mirror_one_ready ON search_mirror (ready) WHERE ready;
-- Indexes that nobody asks any more, until the server has deleted them.
CREATE TABLE search_mirror_retired (index_uid text PRIMARY KEY);
CREATE SEQUENCE search_outbox_sequence;
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
CREATE TABLE document_search_form (version integer NOT NULL);
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

CREATE FUNCTION document_search_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO document_postings SELECT unnest(terms), class, created_at, id FROM added;
  INSERT INTO document_count_changes
    SELECT workspace_id, class, owner_id, (created_at AT TIME ZONE 'UTC')::date, count(*)
    FROM added GROUP BY 1, 2, 3, 4;
  PERFORM search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM added;
  RETURN NULL;
END
$$;

CREATE FUNCTION document_search_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM document_postings p
    USING (SELECT unnest(terms) AS term, class, created_at, id FROM removed) r
    WHERE (p.term, p.class, p.created_at, p.id) = (r.term, r.class, r.created_at, r.id);
  INSERT INTO document_count_changes
    SELECT workspace_id, class, owner_id, (created_at AT TIME ZONE 'UTC')::date, -count(*)
    FROM removed GROUP BY 1, 2, 3, 4;
  PERFORM search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM removed;
  RETURN NULL;
END
$$;

-- Only what differs is written: a patched summary touches no posting.
CREATE FUNCTION document_search_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM removed r JOIN added a USING (id)
             WHERE (r.class, r.terms, r.created_at) IS DISTINCT FROM (a.class, a.terms, a.created_at)) THEN
    DELETE FROM document_postings p
      USING (SELECT unnest(terms) AS term, class, created_at, id FROM removed
             EXCEPT SELECT unnest(terms), class, created_at, id FROM added) r
      WHERE (p.term, p.class, p.created_at, p.id) = (r.term, r.class, r.created_at, r.id);
    INSERT INTO document_postings
      SELECT unnest(terms), class, created_at, id FROM added
      EXCEPT SELECT unnest(terms), class, created_at, id FROM removed;
    INSERT INTO document_count_changes
      SELECT workspace_id, class, owner_id, day, sum(n) FROM (
        SELECT workspace_id, class, owner_id, (created_at AT TIME ZONE 'UTC')::date AS day, 1 AS n FROM added
        UNION ALL
        SELECT workspace_id, class, owner_id, (created_at AT TIME ZONE 'UTC')::date, -1 FROM removed) changed
      GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0;
  END IF;
  PERFORM search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM added;
  RETURN NULL;
END
$$;

CREATE TRIGGER document_search_inserted AFTER INSERT ON document_search
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION document_search_inserted();
CREATE TRIGGER document_search_deleted AFTER DELETE ON document_search
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION document_search_deleted();
CREATE TRIGGER document_search_updated AFTER UPDATE ON document_search
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION document_search_updated();

-- Bin, restore, archive and purge concern search only in this: the text stays as it was written.
CREATE FUNCTION documents_reclass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE document_search SET class = document_class(NEW.status, NEW.archived_at) WHERE id = NEW.id;
  RETURN NULL;
END
$$;
CREATE TRIGGER documents_reclass AFTER UPDATE OF status, archived_at ON documents
  FOR EACH ROW WHEN (document_class(OLD.status, OLD.archived_at) <> document_class(NEW.status, NEW.archived_at))
  EXECUTE FUNCTION documents_reclass();

CREATE FUNCTION documents_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM document_search s USING gone WHERE s.id = gone.id;
  DELETE FROM document_texts t USING gone WHERE t.id = gone.id;
  RETURN NULL;
END
$$;
CREATE TRIGGER documents_forget AFTER DELETE ON documents
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION documents_forget();
