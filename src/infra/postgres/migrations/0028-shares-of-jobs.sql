-- Jobs of a kind are begun in turn from those of each workspace, so that many of one do not hold up the first of another.
-- A version that does not know the column queues jobs without a workspace, which have a turn of their own.
ALTER TABLE jobs ADD COLUMN share text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX jobs_shares ON jobs (kind, share, run_at, id);
