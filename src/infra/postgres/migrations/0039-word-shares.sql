-- The shares of words in the public passages of a large workspace (scope ''), and in the private ones of an owner (their id):
-- weights for callers who do not see everything. docs/decisions/023 has the reasons.
CREATE TABLE document_word_shares (
  workspace_id   text COLLATE "C" NOT NULL,
  scope          text COLLATE "C" NOT NULL,
  passages       double precision NOT NULL,
  average_length double precision NOT NULL,
  words          text[] COLLATE "C" NOT NULL,
  shares         real[] NOT NULL,
  PRIMARY KEY (workspace_id, scope)
);
