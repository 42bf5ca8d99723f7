-- Work that outlives the request that asked for it: a job is inserted with the change that causes it, and done by a worker of its
-- kind in any process. A leased job has a run_at in the future; it comes back when its worker dies.
CREATE TABLE jobs (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind       text NOT NULL,
  payload    jsonb NOT NULL,
  run_at     timestamptz NOT NULL DEFAULT now(),
  attempts   integer NOT NULL DEFAULT 0,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Jobs of a kind are begun in turn from those of each workspace, so that many of one do not hold up the first of another.
  share      text COLLATE "C" NOT NULL DEFAULT ''
);

CREATE INDEX jobs_due on jobs (kind, run_at, id);
CREATE INDEX jobs_shares ON jobs (kind, share, run_at, id);
-- Which jobs there are for a document: what catches up queues no document that is queued.
CREATE INDEX jobs_of_documents ON jobs ((payload ->> 'document'), kind) WHERE payload ->> 'document' IS NOT NULL;
