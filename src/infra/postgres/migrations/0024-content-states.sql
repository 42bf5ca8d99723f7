-- Lists of documents by the state of their text, the last changed first, and counts of them with their passages.
CREATE INDEX document_contents_by_state ON document_contents (workspace_id, state, changed_at, document_id) INCLUDE (passages);
