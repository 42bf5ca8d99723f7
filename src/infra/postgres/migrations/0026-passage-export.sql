-- What cursors of the export of passages are signed with.
ALTER TABLE documents_identity ADD COLUMN cursor_secret bytea NOT NULL
  DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

-- A document that is to be read anew has its passages until they are replaced: that it waits is no change of them.
DROP TRIGGER document_contents_changed ON document_contents;
CREATE CONSTRAINT TRIGGER document_contents_changed AFTER UPDATE OF changed_at ON document_contents
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.state <> 'pending' AND (OLD.passages > 0 OR NEW.passages > 0))
  EXECUTE FUNCTION document_contents_changed();
