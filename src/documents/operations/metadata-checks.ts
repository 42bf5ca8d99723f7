// The checks that a confirm and a patch share.

import { forbidden, valueError } from '../../core/errors.ts';
import type { Viewer } from '../policy.ts';

export type FindUser = (user: {
  workspaceId: string;
  userId: string;
}) => Promise<{ email: string } | undefined>;

/**
 * That the viewer may make another user the owner of a document. Throws 403 for all but administrators, and 422 at
 * `loc` for an owner who is unknown to the workspace.
 */
export async function assertMayOwn(
  findUser: FindUser,
  viewer: Pick<Viewer, 'workspaceId' | 'admin'>,
  owner: { userId: string; loc: string[] },
): Promise<void> {
  const { userId, loc } = owner;
  if (!viewer.admin) throw forbidden('Only administrators may name another owner');
  const user = await findUser({ workspaceId: viewer.workspaceId, userId });
  if (user === undefined) throw valueError(loc, 'no such user in this workspace', userId);
}

/** URLs can't hold `.` or `..` as a segment, so no request could name such a document: 422. */
export function refuseUnreachableName(name: string, loc: string[]): void {
  if (name === '.' || name === '..') throw valueError(loc, `a document can't be named '${name}'`, name);
}
