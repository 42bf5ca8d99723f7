-- The keys that a key replaces, oldest first: their limits and what they have spent are its own.
ALTER TABLE keys ADD COLUMN predecessors uuid[] NOT NULL DEFAULT '{}';
