-- A form may be used again: each object that was posted under its key makes a document of its own.

ALTER TABLE documents
  DROP CONSTRAINT documents_workspace_id_upload_id_key,
  -- Which of the objects under the temporary key it was: ETag, modification time and version, as the store told them;
  -- empty for uploads that were confirmed before this was kept.
  ADD COLUMN upload_object text NOT NULL DEFAULT '',
  -- What the object is stored as; null for those that were confirmed before this was kept.
  ADD COLUMN content_type text;

CREATE UNIQUE INDEX documents_by_upload ON documents (workspace_id, upload_id, upload_object);
