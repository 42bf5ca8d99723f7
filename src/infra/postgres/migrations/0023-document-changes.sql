-- The order in which passages change, and in which the right to see them does: what follows them (an export, an index in
-- memory) asks for the documents that have changed since a number. docs/decisions/025 has the reasons.

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
  workspace_id   text COLLATE "C" NOT NULL,
  document_id    uuid NOT NULL,
  first_sequence bigint NOT NULL,
  sequence       bigint NOT NULL,
  -- Who could see the document before its last change, besides administrators: all, or users' ids and e-mails.
  seen_by_all    boolean NOT NULL DEFAULT false,
  seen_by        text[] NOT NULL DEFAULT '{}',
  purged_at      timestamptz(3),
  PRIMARY KEY (workspace_id, document_id),
  UNIQUE (workspace_id, sequence)
);
CREATE INDEX document_changes_purged ON document_changes (purged_at) WHERE purged_at IS NOT NULL;

-- Takes the next numbers of a workspace, and returns the last of them.
CREATE FUNCTION document_feed_advance(workspace text, numbers bigint) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO document_feeds AS f (workspace_id, last_sequence) VALUES (workspace, numbers)
  ON CONFLICT (workspace_id) DO UPDATE SET last_sequence = f.last_sequence + excluded.last_sequence
  RETURNING last_sequence
$$;

-- Numbers a document anew. To be the last statement of a transaction, because others of the workspace wait for its end.
CREATE FUNCTION document_feed_note(workspace text, document uuid) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  number CONSTANT bigint := document_feed_advance(workspace, 1);
BEGIN
  INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence)
  VALUES (workspace, document, number, number)
  ON CONFLICT (workspace_id, document_id) DO UPDATE SET sequence = excluded.sequence;
  RETURN number;
END
$$;

-- Passages were replaced or removed. Storing a text may take long, so the number is taken when its transaction ends.
CREATE FUNCTION document_contents_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM document_feed_note(NEW.workspace_id, NEW.document_id);
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER document_contents_changed AFTER UPDATE OF changed_at ON document_contents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.passages > 0 OR NEW.passages > 0)
  EXECUTE FUNCTION document_contents_changed();

-- Other people may see the document now. Where it is being read, its passages may be stored before this transaction ends:
-- the lock makes them take a later number. The name puts the trigger behind the others, which take further locks.
CREATE FUNCTION documents_seen_by_others() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM document_changes WHERE workspace_id = NEW.workspace_id AND document_id = NEW.id)
    AND NOT EXISTS (SELECT FROM document_contents WHERE document_id = NEW.id AND state = 'pending')
  THEN RETURN NULL; END IF;
  number := document_feed_advance(NEW.workspace_id, 1);
  -- A thousand different readers are as good as all.
  UPDATE document_changes SET sequence = number,
    seen_by_all = seen_by_all OR OLD.status = 'public' OR cardinality(seen_by) > 1000,
    seen_by = CASE WHEN seen_by_all OR cardinality(seen_by) > 1000 THEN seen_by ELSE ARRAY(
      SELECT unnest(seen_by) UNION SELECT unnest(OLD.curators) UNION SELECT OLD.owner_id::text) END
  WHERE workspace_id = NEW.workspace_id AND document_id = NEW.id;
  RETURN NULL;
END
$$;

-- The row of a purged document remains as its tombstone. It is in the bin before, so that `seen_by` is complete.
CREATE FUNCTION documents_purged() RETURNS trigger LANGUAGE plpgsql AS $$
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
    UPDATE document_changes c SET sequence = last - place + 1, purged_at = clock_timestamp()
    FROM unnest(feed.documents) WITH ORDINALITY AS purged (id, place)
    WHERE c.workspace_id = feed.workspace_id AND c.document_id = purged.id;
  END LOOP;
  RETURN NULL;
END
$$;

-- Nothing changes before the rows that are there already are numbered. In the order of a purge, which locks both tables.
LOCK TABLE documents, document_contents IN SHARE ROW EXCLUSIVE MODE;

CREATE TRIGGER documents_seen_by_others AFTER UPDATE OF status, archived_at, owner_id, curators ON documents
  FOR EACH ROW WHEN ((OLD.status, OLD.owner_id, OLD.curators, OLD.archived_at IS NULL)
    IS DISTINCT FROM (NEW.status, NEW.owner_id, NEW.curators, NEW.archived_at IS NULL))
  EXECUTE FUNCTION documents_seen_by_others();
CREATE TRIGGER documents_purged AFTER DELETE ON documents
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION documents_purged();

INSERT INTO document_changes (workspace_id, document_id, first_sequence, sequence)
SELECT workspace_id, document_id, number, number FROM (
  SELECT workspace_id, document_id, row_number() OVER (PARTITION BY workspace_id ORDER BY changed_at, document_id) AS number
  FROM document_contents WHERE passages > 0) AS numbered;
INSERT INTO document_feeds (workspace_id, last_sequence)
SELECT workspace_id, count(*) FROM document_changes GROUP BY 1;
