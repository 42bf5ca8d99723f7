-- The parts of a stored vector: its scale, and its components.
CREATE FUNCTION document_vector_scale(stored bytea) RETURNS real LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN bits = 0 THEN 0 ELSE (8388608 + (bits & 8388607)) * power(2::float8, (bits >> 23) - 150) END::real
  FROM (SELECT get_byte(stored, 0) + (get_byte(stored, 1) << 8) + (get_byte(stored, 2) << 16) + (get_byte(stored, 3) << 24) AS bits) f
$$;

CREATE FUNCTION document_vector_components(stored bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT ((get_byte(stored, at) + 128) % 256 - 128)::real FROM generate_series(4, length(stored) - 1) AS places (at))
$$;

-- An embedding model, by what answers under its name. All of its vectors have one length.
CREATE TABLE document_vector_models (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text COLLATE "C" NOT NULL UNIQUE,
  dimensions integer NOT NULL
);

-- A vector by its passage. Without a foreign key to that: where the passages of a document are replaced, the vectors of the
-- earlier ones stay until the new ones are embedded, so that equal texts are not embedded again.
CREATE TABLE document_vectors (
  document_id uuid REFERENCES document_contents(document_id) ON DELETE CASCADE,
  model_id    integer,
  passage_id  bigint,
  -- The first 16 bytes of the SHA-256 of the text that was embedded.
  text_hash   bytea NOT NULL,
  -- A scale (f32, little-endian), then an int8 for each dimension.
  vector      bytea STORAGE EXTERNAL NOT NULL,
  PRIMARY KEY (document_id, model_id, passage_id)
);

-- The vector of a text is copied from an equal one of its workspace, also of another document, and not made again. It takes about
-- 50 bytes a passage.
CREATE INDEX document_vectors_texts ON document_vectors (text_hash);

-- Documents all of whose passages have vectors by a model, those of this revision of the text.
CREATE TABLE document_embeddings (
  document_id  uuid REFERENCES document_contents(document_id) ON DELETE CASCADE,
  model_id     integer,
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

-- Workspaces whose vectors pgvector searches, where the database has it; docs/decisions/024 has the reasons. The vectors stand in
-- document_graph_vectors, which the service makes when the first workspace is to have a graph: its type is one of pgvector. Searches use
-- a graph once its index (document_graph_vectors_<id>) is valid.
CREATE TABLE document_vector_graphs (
  id           integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  workspace_id text COLLATE "C",
  model_id     integer,
  PRIMARY KEY (workspace_id, model_id)
);

-- Copies stored vectors into the graph of their workspace, if it has one.
CREATE FUNCTION document_vectors_into_graph() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM document_vector_graphs) AND to_regtype('halfvec') IS NOT NULL THEN
    INSERT INTO document_graph_vectors (document_id, model_id, passage_id, graph_id, scale, components)
    SELECT document_id, model_id, passage_id, g.id, document_vector_scale(vector), document_vector_components(vector)::halfvec
    FROM stored JOIN document_contents USING (document_id) JOIN document_vector_graphs g USING (workspace_id, model_id)
    ON CONFLICT (document_id, model_id, passage_id) DO UPDATE
      SET graph_id = excluded.graph_id, scale = excluded.scale, components = excluded.components;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER document_vectors_inserted AFTER INSERT ON document_vectors
  REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION document_vectors_into_graph();

CREATE TRIGGER document_vectors_updated AFTER UPDATE ON document_vectors
  REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION document_vectors_into_graph();
