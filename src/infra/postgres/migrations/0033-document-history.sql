-- What people did with a document after its upload, which its own row states. A row is written by the statement of its
-- change, and goes with its document; docs/decisions/019 has the reasons.
CREATE TABLE document_history (
  id          bigint GENERATED ALWAYS AS IDENTITY,
  document_id uuid NOT NULL,
  created_at  timestamptz(3) NOT NULL,
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

-- The rows of purged documents; also those that a process of the version before purges.
CREATE FUNCTION document_history_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- By an array, so that the index is used however many rows the planner has last seen.
  DELETE FROM document_history WHERE document_id = ANY (ARRAY(SELECT id FROM gone));
  RETURN NULL;
END
$$;
CREATE TRIGGER document_history_purged AFTER DELETE ON documents
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION document_history_purged();
