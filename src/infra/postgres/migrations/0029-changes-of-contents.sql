-- Who follows passages without their embeddings gets each document once, not again when it is embedded: `content_sequence` is
-- the number of the last change that was not such a one. `sequence` stays that of the last change of all.
ALTER TABLE document_changes ADD COLUMN content_sequence bigint NOT NULL DEFAULT 0;
UPDATE document_changes SET content_sequence = sequence;
CREATE INDEX document_changes_of_contents ON document_changes (workspace_id, content_sequence);

-- A document's embeddings are complete. To be the last statement of a transaction, because others of the workspace wait for its end.
CREATE OR REPLACE FUNCTION document_feed_note(workspace text, document uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  number CONSTANT bigint := document_feed_advance(workspace, 1);
BEGIN
  INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence, content_sequence)
  VALUES (workspace, document, number, number, number)
  ON CONFLICT (workspace_id, document_id) DO UPDATE SET sequence = excluded.sequence;
  RETURN number;
END
$$;

CREATE OR REPLACE FUNCTION document_contents_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM document_feed_note(NEW.workspace_id, NEW.document_id);
  UPDATE document_changes SET content_sequence = sequence
  WHERE workspace_id = NEW.workspace_id AND document_id = NEW.document_id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION documents_seen_by_others() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION documents_purged() RETURNS trigger LANGUAGE plpgsql AS $$
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
