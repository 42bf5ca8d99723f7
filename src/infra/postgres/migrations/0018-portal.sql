-- The portal's sign-ins: sessions that can be listed and revoked, and one-time links.

ALTER TABLE portal_sessions
  ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  -- How the person signed in: `key` or `link`.
  ADD COLUMN provider text NOT NULL DEFAULT 'key',
  -- The browser, as it names itself.
  ADD COLUMN user_agent text;

CREATE TABLE portal_links (
  -- SHA-256 of the secret in the link.
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  -- The session that the link opens has the rights of this key.
  key_id uuid NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
  expires_at timestamptz(3) NOT NULL
);
