-- A question that failed may be deleted while it is sent again: `chat_accept` (0009) had read it before the deletion, which it then
-- waited for. It was asked again although it was deleted, and its session counted one message too few from then on. Whether it is
-- deleted is looked at once more behind the lock.
DO $$
DECLARE
  before     text;
  definition text;
  known_line   constant text := 'IF answer.state = ''done'' THEN';
BEGIN
  SELECT pg_get_functiondef(oid) INTO STRICT before FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND proname = 'chat_accept';
  definition := replace(before, known_line,
    'IF answer.deleted_at IS NOT NULL THEN outcome := ''deleted''; RETURN; END IF;' || E'\n      ' || known_line);
  IF length(definition) = length(before) THEN RAISE 'chat_accept is not the one that is known'; END IF;
  EXECUTE definition;
END
$$;
