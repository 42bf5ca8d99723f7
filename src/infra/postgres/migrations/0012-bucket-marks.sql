-- How far the records have come, for the mark in the bucket that says the same: a database that is behind that mark is an
-- older copy, to which the objects of every document confirmed since would be orphans.

ALTER TABLE documents_identity
  -- Goes up by one with every sweep, and soon after documents were confirmed.
  ADD COLUMN reached integer NOT NULL DEFAULT 0,
  -- Why nothing is swept from the bucket, in one sentence; null when all is well.
  ADD COLUMN bucket_problem text,
  -- An operator's decision, until it is carried out: the bucket is this database's, as it is.
  ADD COLUMN adopts_bucket boolean NOT NULL DEFAULT false;
