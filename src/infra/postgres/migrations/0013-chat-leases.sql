-- After the database was away every process has been silent for too long. So one that was silent lets the others give a
-- sign first: it says that another is dead only from `judges_from` on, and only until its own next sign is overdue. A
-- process of an earlier version leaves both as they are, and says nothing.
ALTER TABLE chat_processes
  ADD COLUMN judges_from  timestamptz NOT NULL DEFAULT 'infinity',
  ADD COLUMN judges_until timestamptz NOT NULL DEFAULT '-infinity';

-- Dead is who has left, and who gave no sign for its time while another one gave them all.
CREATE OR REPLACE FUNCTION chat_is_alive(process uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM chat_processes p WHERE p.id = process AND (
    p.alive_until > clock_timestamp()
    OR NOT EXISTS (SELECT FROM chat_processes w
      WHERE clock_timestamp() >= w.judges_from AND clock_timestamp() < w.judges_until)))
$$;
