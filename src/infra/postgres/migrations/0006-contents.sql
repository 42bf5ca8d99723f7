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
CREATE TABLE document_words (
  word text COLLATE "C" PRIMARY KEY
);

CREATE INDEX document_words_parts ON document_words USING gin (word gin_trgm_ops) WITH (fastupdate = off);

-- What the files of documents say: their text, and the passages of it that are found and cited. All of it is
-- deleted with the document's row, in the same transaction; docs/decisions/021 has the reasons.
CREATE TABLE document_contents (
  document_id    uuid PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  workspace_id   text COLLATE "C" NOT NULL,
  -- `pending`: a job of the queue is to read it; `off`: it is not to be read.
  state          text NOT NULL CHECK (state IN ('pending', 'ready', 'empty', 'unsupported', 'failed', 'off')),
  reason         text,
  language       text COLLATE "C",
  pages          integer,
  -- Of the text, in code points, and how many passages it has.
  characters     integer NOT NULL DEFAULT 0,
  passages       integer NOT NULL DEFAULT 0,
  -- The text that a person has given in place of the file's.
  given_text     text,
  given_format   text CHECK (given_format IN ('text', 'markdown')),
  given_language text COLLATE "C",
  -- One more each time that it is to be read anew: what an earlier reading finds is not kept.
  revision       integer NOT NULL DEFAULT 1,
  -- Readings since that failed because of the file.
  attempts       integer NOT NULL DEFAULT 0,
  changed_at     timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- The revision of the text whose words are kept, and the form that they have: by these the job that catches up finds the rest.
  words_revision integer,
  words_form     integer
);

-- Lists of documents by the state of their text, the last changed first, and counts of them with their passages.
CREATE INDEX document_contents_by_state ON document_contents (workspace_id, state, changed_at, document_id) INCLUDE (passages);
-- In which languages a question is to be understood.
CREATE INDEX document_contents_language ON document_contents (workspace_id, language);

-- The text in parts, as plain text and, where that differs, as Markdown.
CREATE TABLE document_content_parts (
  document_id uuid REFERENCES document_contents(document_id) ON DELETE CASCADE,
  format      text COLLATE "C",
  part        integer,
  text        text NOT NULL,
  PRIMARY KEY (document_id, format, part)
);

CREATE TABLE document_passages (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document_id  uuid NOT NULL REFERENCES document_contents(document_id) ON DELETE CASCADE,
  workspace_id text COLLATE "C" NOT NULL,
  -- Its place among those of the document, from 0.
  passage      integer NOT NULL,
  page         integer,
  heading      text,
  text         text NOT NULL,
  -- In the plain text, in code points; the end is excluded.
  starts_at    integer NOT NULL,
  ends_at      integer NOT NULL,
  UNIQUE (document_id, passage)
);

-- Workspaces whose files are not read, or were not for a time.
CREATE TABLE document_settings (
  workspace_id text COLLATE "C" PRIMARY KEY REFERENCES workspaces(id) ON DELETE CASCADE,
  reads_files  boolean NOT NULL
);

-- One counter for each workspace. It is locked from a change to the end of its transaction, so that numbers become visible
-- in their order. Locks are taken in this order: documents, document_contents, document_feeds, document_changes.
CREATE TABLE document_feeds (
  workspace_id  text COLLATE "C" PRIMARY KEY,
  last_sequence bigint NOT NULL,
  -- Purged documents up to this number have been deleted from document_changes.
  forgotten_to  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Documents that have passages, had some, or were purged since. Apart from document_contents, whose rows a reading locks
-- while it stores a text: the bin does not wait for that. Without a foreign key, because a row outlasts its document.
CREATE TABLE document_changes (
  workspace_id     text COLLATE "C",
  document_id      uuid,
  first_sequence   bigint NOT NULL,
  sequence         bigint NOT NULL,
  -- Who could see the document before its last change, besides administrators: all, or users' ids and e-mails.
  seen_by_all      boolean NOT NULL DEFAULT false,
  seen_by          text[] NOT NULL DEFAULT '{}',
  purged_at        timestamptz(3),
  -- Who follows passages without their embeddings gets each document once, not again when it is embedded: `content_sequence` is
  -- the number of the last change that was not such a one. `sequence` stays that of the last change of all.
  content_sequence bigint NOT NULL DEFAULT 0,
  UNIQUE (workspace_id, sequence),
  PRIMARY KEY (workspace_id, document_id)
);

CREATE INDEX document_changes_purged ON document_changes (purged_at) WHERE purged_at IS NOT NULL;
CREATE INDEX document_changes_of_contents ON document_changes (workspace_id, content_sequence);

-- The words of passages, by which they are found; docs/decisions/023 has the reasons. A row goes with the document's contents.
CREATE TABLE document_passage_words (
  passage_id   bigint PRIMARY KEY,
  document_id  uuid NOT NULL REFERENCES document_contents(document_id) ON DELETE CASCADE,
  workspace_id text COLLATE "C" NOT NULL,
  -- Words in all, repeated ones and those that carry no meaning included.
  length       integer NOT NULL,
  -- Each word as a digest of it with the workspace; as many positions as it occurs.
  words        tsvector STORAGE MAIN NOT NULL
) WITH (toast_tuple_target = 8160);

CREATE INDEX document_passage_words_document ON document_passage_words (document_id);
CREATE INDEX document_passage_words_workspace ON document_passage_words (workspace_id, passage_id) INCLUDE (length);
-- A search reads all that waits to be merged into the index.
CREATE INDEX document_passage_words_words ON document_passage_words USING gin (words) WITH (gin_pending_list_limit = 512);

-- Takes the next numbers of a workspace, and returns the last of them.
CREATE FUNCTION document_feed_advance(workspace text, numbers bigint) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO document_feeds AS f (workspace_id, last_sequence) VALUES (workspace, numbers)
  ON CONFLICT (workspace_id) DO UPDATE SET last_sequence = f.last_sequence + excluded.last_sequence
  RETURNING last_sequence
$$;

-- A document's embeddings are complete. To be the last statement of a transaction, because others of the workspace wait for its end.
CREATE FUNCTION document_feed_note(workspace text, document uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  number CONSTANT bigint := document_feed_advance(workspace, 1);
BEGIN
  INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence, content_sequence)
  VALUES (workspace, document, number, number, number)
  ON CONFLICT (workspace_id, document_id) DO UPDATE SET sequence = excluded.sequence;
  RETURN number;
END
$$;

-- Passages were replaced or removed. Storing a text may take long, so the number is taken when its transaction ends.
CREATE FUNCTION document_contents_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM document_feed_note(NEW.workspace_id, NEW.document_id);
  UPDATE document_changes SET content_sequence = sequence
  WHERE workspace_id = NEW.workspace_id AND document_id = NEW.document_id;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER document_contents_changed AFTER UPDATE OF changed_at ON document_contents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (new.state <> 'pending' AND (old.passages > 0 OR new.passages > 0))
  EXECUTE FUNCTION document_contents_changed();
