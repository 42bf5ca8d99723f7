-- The words of passages, by which they are found; docs/decisions/023 has the reasons. A row goes with the document's contents.
-- One whose passage was replaced by an earlier version, which knows no words, has no passage of that id any more, so that
-- nothing is found by it; the job that catches up replaces the words of such documents.
CREATE TABLE document_passage_words (
  passage_id   bigint PRIMARY KEY,
  document_id  uuid NOT NULL REFERENCES document_contents ON DELETE CASCADE,
  workspace_id text COLLATE "C" NOT NULL,
  -- Words in all, repeated ones and those that carry no meaning included.
  length       integer NOT NULL,
  -- Each word as a digest of it with the workspace; as many positions as it occurs.
  words        tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
-- Ranking reads the words of thousands of rows: they stand in the row, uncompressed, where they fit a page.
ALTER TABLE document_passage_words ALTER COLUMN words SET STORAGE MAIN;
CREATE INDEX document_passage_words_document ON document_passage_words (document_id);
CREATE INDEX document_passage_words_workspace ON document_passage_words (workspace_id, passage_id) INCLUDE (length);
-- A search reads all that waits to be merged into the index.
CREATE INDEX document_passage_words_words ON document_passage_words USING gin (words) WITH (gin_pending_list_limit = 512);

-- The revision of the text whose words are kept, and the form that they have: by these the job that catches up finds the rest.
ALTER TABLE document_contents ADD COLUMN words_revision integer;
ALTER TABLE document_contents ADD COLUMN words_form integer;
-- In which languages a question is to be understood.
CREATE INDEX document_contents_language ON document_contents (workspace_id, language);

-- How common words are in a large workspace, from a sample of its passages: those that many have, with their share.
CREATE TABLE document_word_statistics (
  workspace_id   text COLLATE "C" PRIMARY KEY,
  passages       bigint NOT NULL,
  average_length real NOT NULL,
  words          text[] NOT NULL,
  shares         real[] NOT NULL,
  taken_at       timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
