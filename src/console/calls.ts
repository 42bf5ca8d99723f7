import type { CredentialKind, Operation, Route } from '../http/operation.ts';

/** The operations of the interface stand below this path for the portal's cookie. */
const CALLS_PATH = '/admin/call';

/**
 * The interface's operations once more, for the portal: each below `/admin/call`, where the cookie is the credential. The cookie
 * thus stays limited to `/admin`, and an operation of the interface accepts what the interface says and nothing else. What the
 * caller may do is what the session's key may do, in its own workspace.
 */
export const portalCalls = (routes: readonly Route[]): Route[] =>
  routes
    .filter(({ operation }) => isCalled(operation))
    .map((each) => ({ ...each, operation: toCall(each.operation) }));

const CALLED: ReadonlySet<CredentialKind> = new Set(['api-key-header', 'svc-key', 'metrics', 'key']);

/** Administration has the cookie anyway; unprefixed paths of models are duplicates. */
function isCalled({ credential, path }: Operation): boolean {
  if (credential === 'models') return path.startsWith('/v1/') || path.startsWith('/{workspace_id}/');
  return CALLED.has(credential);
}

const toCall = (operation: Operation): Operation => ({
  ...operation,
  id: `portal.${operation.id}`,
  path: `${CALLS_PATH}${operation.path}`,
  credential: 'portal',
});
