-- What was measured in the course of time: a value for each day or hour. The workspace is empty for the service as a whole.
CREATE TABLE trends (
  workspace_id text COLLATE "C",
  name         text COLLATE "C",
  at           timestamp(0),
  value        double precision NOT NULL,
  PRIMARY KEY (workspace_id, name, at)
);
