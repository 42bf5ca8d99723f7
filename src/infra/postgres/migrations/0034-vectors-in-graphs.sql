-- Workspaces whose vectors pgvector searches, where the database has it; docs/decisions/024 has the reasons. The vectors stand in
-- document_graph_vectors, which the service makes when the first workspace is to have a graph: its type is one of pgvector.
CREATE TABLE document_vector_graphs (
  id           integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  model_id     integer NOT NULL,
  -- All vectors are there, and the index is.
  ready        boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, model_id)
);

-- The parts of a stored vector: its scale, and its components.
CREATE FUNCTION document_vector_scale(stored bytea) RETURNS real LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN bits = 0 THEN 0 ELSE (8388608 + (bits & 8388607)) * power(2::float8, (bits >> 23) - 150) END::real
  FROM (SELECT get_byte(stored, 0) + (get_byte(stored, 1) << 8) + (get_byte(stored, 2) << 16) + (get_byte(stored, 3) << 24) AS bits) f
$$;
CREATE FUNCTION document_vector_components(stored bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT ((get_byte(stored, at) + 128) % 256 - 128)::real FROM generate_series(4, length(stored) - 1) AS places (at))
$$;

-- Vectors that are stored, also by a process of the version before.
CREATE FUNCTION document_vectors_into_graph() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM document_vector_graphs) THEN
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
