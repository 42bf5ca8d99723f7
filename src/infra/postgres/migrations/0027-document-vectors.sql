-- The vectors of passages; docs/decisions/024 has the reasons. All of them go with the document's contents, in the same
-- transaction, also where an earlier version purges it.

-- An embedding model, by what answers under its name. All of its vectors have one length.
CREATE TABLE document_vector_models (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text COLLATE "C" NOT NULL UNIQUE,
  dimensions integer NOT NULL
);

-- A vector by its passage. Without a foreign key to that: where the passages of a document are replaced, the vectors of the
-- earlier ones stay until the new ones are embedded, so that equal texts are not embedded again.
CREATE TABLE document_vectors (
  document_id uuid NOT NULL REFERENCES document_contents ON DELETE CASCADE,
  model_id    integer NOT NULL,
  passage_id  bigint NOT NULL,
  -- The first 16 bytes of the SHA-256 of the text that was embedded.
  text_hash   bytea NOT NULL,
  -- A scale (f32, little-endian), then an int8 for each dimension.
  vector      bytea NOT NULL,
  PRIMARY KEY (document_id, model_id, passage_id)
);
-- Compressing them gains nothing.
ALTER TABLE document_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Documents all of whose passages have vectors by a model, those of this revision of the text.
CREATE TABLE document_embeddings (
  document_id  uuid NOT NULL REFERENCES document_contents ON DELETE CASCADE,
  model_id     integer NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  revision     integer NOT NULL,
  passages     integer NOT NULL,
  -- The document's number in the feed of its workspace when they were complete.
  sequence     bigint NOT NULL,
  PRIMARY KEY (document_id, model_id)
);
CREATE INDEX document_embeddings_in_order ON document_embeddings (workspace_id, model_id, sequence);

-- The model whose vectors answer in a workspace. Another one takes its place when it has all that this one has.
CREATE TABLE document_vector_workspaces (
  workspace_id text COLLATE "C" PRIMARY KEY,
  model_id     integer NOT NULL
);
