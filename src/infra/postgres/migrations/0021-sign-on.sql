-- Single sign-on: which person of a provider a user is, and the key that has the rights of their sessions.

ALTER TABLE users
  -- The claims `iss` and `sub`; null where the user has never signed in at a provider.
  ADD COLUMN sign_on_issuer text,
  ADD COLUMN sign_on_subject text,
  ADD CHECK ((sign_on_issuer IS NULL) = (sign_on_subject IS NULL));

CREATE UNIQUE INDEX users_sign_on ON users (sign_on_subject, sign_on_issuer, workspace_id)
  WHERE sign_on_subject IS NOT NULL;

-- A key of single sign-on has a hash of which no text is known.
ALTER TABLE keys ADD COLUMN sign_on boolean NOT NULL DEFAULT false;

CREATE UNIQUE INDEX keys_sign_on ON keys (user_id) WHERE sign_on AND revoked_at IS NULL;

-- The workspaces that the sign-in opens; null where a key or a link opened the session. The provider may be `oidc`, too.
ALTER TABLE portal_sessions ADD COLUMN workspaces text[];
