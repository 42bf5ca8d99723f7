-- The vector of a text is copied from an equal one of its workspace, also of another document, and not made again. It takes about
-- 50 bytes a passage.
CREATE INDEX document_vectors_texts ON document_vectors (text_hash);
