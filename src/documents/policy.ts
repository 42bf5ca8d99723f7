// Who may see and do what with a document. Public ones are readable with any documents key of the workspace,
// private ones by owner, curators and admins; binned ones by owner and admins.

import { conflict, forbidden, notFound, type ServiceError, valueError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { isAdmin, type Principal } from '../core/principal.ts';
import type { Document } from './document.ts';

/** The caller as permission rules see them; the store compiles the same value into its queries. */
export type Viewer = { workspaceId: string; userId: string; email: string; admin: boolean };

export const toViewer = (principal: Principal): Viewer => ({
  workspaceId: principal.workspaceId,
  userId: principal.userId,
  email: principal.email,
  admin: isAdmin(principal),
});

/** What the rules need to know of a document. */
export type Guarded = Pick<Document, 'workspaceId' | 'ownerId' | 'curators' | 'status'>;

/** Owner and admins: bin, restore, purge, change `access`. */
export const canAdminister = (viewer: Viewer, document: Guarded): boolean =>
  viewer.workspaceId === document.workspaceId && (viewer.admin || viewer.userId === document.ownerId);

/** Owner, curators and admins: edit metadata, archive. */
const canEdit = (viewer: Viewer, document: Guarded): boolean =>
  canAdminister(viewer, document) ||
  (viewer.workspaceId === document.workspaceId && document.curators.includes(viewer.email));

export const canSee = (viewer: Viewer, document: Guarded): boolean =>
  document.status === 'deleted'
    ? canAdminister(viewer, document)
    : canEdit(viewer, document) ||
      (viewer.workspaceId === document.workspaceId && document.status === 'public');

export const documentNotFound = (): ServiceError => notFound('Document not found');

/** An id as the store has it. Throws 404 for text that cannot be one. */
export function parseDocumentId(text: string): string {
  if (!isUuid(text)) throw documentNotFound();
  return text.toLowerCase();
}

/** That there is a document which the caller may edit now. Throws 404 unseen, 403 forbidden, 409 binned. */
export function assertEditable<D extends Document>(
  viewer: Viewer,
  document: D | undefined,
): asserts document is D {
  if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
  if (!canEdit(viewer, document))
    throw forbidden('Only the owner, curators and admins may change this document');
  if (document.status === 'deleted') throw conflict('The document is in the bin; restore it first');
}

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
