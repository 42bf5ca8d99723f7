-- Processes are told only of changes of what they cache of a document, which is what `locate` reads. A transaction that notifies
-- commits alone: Postgres holds a lock of the whole server over the flush of its log, and cannot flush several at once.
DROP TRIGGER documents_invalidate ON documents;
CREATE TRIGGER documents_invalidate AFTER UPDATE ON documents FOR EACH ROW
  WHEN ((OLD.id, OLD.workspace_id, OLD.owner_id, OLD.name, OLD.object_key, OLD.file_type, OLD.content_type, OLD.curators, OLD.status)
    IS DISTINCT FROM
    (NEW.id, NEW.workspace_id, NEW.owner_id, NEW.name, NEW.object_key, NEW.file_type, NEW.content_type, NEW.curators, NEW.status))
  EXECUTE FUNCTION documents_invalidate();
CREATE TRIGGER documents_gone AFTER DELETE ON documents FOR EACH ROW EXECUTE FUNCTION documents_invalidate();
