/** The form of a workspace's name, which is part of URLs and the prefix of every object key. */
export const WORKSPACE_NAME_PATTERN = '^[a-z0-9][a-z0-9-]{1,62}$';

/** The same in words. */
export const WORKSPACE_NAME_FORM = '2 to 63 of a-z, 0-9 and -, the first no -, such as acme';

const PATTERN = new RegExp(WORKSPACE_NAME_PATTERN);

export const isWorkspaceName = (text: string): boolean => PATTERN.test(text);

/** First segments of the service's own paths. No workspace has such a name, because its paths would be ambiguous. */
const RESERVED_EVER = new Set(
  (
    'filter metadata chat models completions images embeddings admin api v1 docs temp chatapp compute ' +
    'healthz readyz metrics file upload trash restore'
  ).split(' '),
);

/** Names that were reserved in later versions: existing workspaces keep them. */
const RESERVED_SINCE = new Set('uploads me mcp responses messages audio rerank moderations'.split(' '));

export const isReservedWorkspaceName = (name: string): boolean =>
  RESERVED_EVER.has(name) || RESERVED_SINCE.has(name);

/** The expected form, if no workspace can have this name; else undefined. */
export function explainWorkspaceName(text: string): string | undefined {
  if (!isWorkspaceName(text)) return WORKSPACE_NAME_FORM;
  return RESERVED_EVER.has(text) ? 'a name that is not reserved' : undefined;
}

/** The e-mail of the administrator that is created with a workspace. The domain is reserved, so no mail can arrive. */
export const administratorOf = (workspaceId: string): string => `admin@${workspaceId}.localhost`;
