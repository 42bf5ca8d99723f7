/** How a workspace's name is written: it stands in URLs and at the head of every object key. */
export const WORKSPACE_NAME_PATTERN = '^[a-z0-9][a-z0-9-]{1,62}$';

/** The same in words. */
export const WORKSPACE_NAME_FORM = '2 to 63 of a-z, 0-9 and -, the first no -, such as acme';

const PATTERN = new RegExp(WORKSPACE_NAME_PATTERN);

export const isWorkspaceName = (text: string): boolean => PATTERN.test(text);

/** First segments of the service's own paths, which a workspace's name must not hide. No workspace has such a name. */
const RESERVED_EVER = new Set(
  (
    'filter metadata chat models completions images embeddings admin api v1 docs temp chatapp compute ' +
    'healthz readyz metrics file upload trash restore'
  ).split(' '),
);

/** Reserved later: a workspace that has had such a name since before goes on. */
const RESERVED_SINCE = new Set('uploads me mcp responses messages audio rerank moderations'.split(' '));

/** Whether no new workspace may have the name. */
export const isReservedWorkspaceName = (name: string): boolean =>
  RESERVED_EVER.has(name) || RESERVED_SINCE.has(name);

/** What is expected of a workspace's name, where the text can't be that of any. */
export function explainWorkspaceName(text: string): string | undefined {
  if (!isWorkspaceName(text)) return WORKSPACE_NAME_FORM;
  return RESERVED_EVER.has(text) ? 'a name that is not reserved' : undefined;
}

/** The e-mail of the administrator that a workspace has from the start: an address that no mail reaches. */
export const administratorOf = (workspaceId: string): string => `admin@${workspaceId}.localhost`;
