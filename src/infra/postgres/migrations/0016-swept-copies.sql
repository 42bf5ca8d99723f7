-- The copies without a record that the sweeper has decided to delete, by the id that the document would have: a confirm that comes
-- late finds the id here, and writes no record. There is one row for each copy that a crash or an outage has left behind, and it
-- stays, because no time is known after which a process that hangs cannot continue.
CREATE TABLE documents_swept (id uuid PRIMARY KEY);
