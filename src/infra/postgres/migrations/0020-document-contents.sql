-- What the files of documents say: their text, and the passages of it that are found and cited. All of it goes with the
-- document's row, in the same transaction, also where an earlier version deletes that. Documents that an earlier version
-- confirms have no row here until they are found by the job that catches up; docs/decisions/021 has the reasons.
CREATE TABLE document_contents (
  document_id    uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
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
  -- Readings that were begun since; one that could not end for want of a server is taken back.
  attempts       integer NOT NULL DEFAULT 0,
  changed_at     timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

-- The text in parts, as plain text and, where that differs, as Markdown.
CREATE TABLE document_content_parts (
  document_id uuid NOT NULL REFERENCES document_contents ON DELETE CASCADE,
  format      text COLLATE "C" NOT NULL,
  part        integer NOT NULL,
  text        text NOT NULL,
  PRIMARY KEY (document_id, format, part)
);

CREATE TABLE document_passages (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document_id  uuid NOT NULL REFERENCES document_contents ON DELETE CASCADE,
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
  workspace_id text COLLATE "C" PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
  reads_files  boolean NOT NULL
);
