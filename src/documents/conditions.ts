// What `policy.ts` says of a viewer and a document, as conditions on the documents' rows.

import type { Sql } from '../infra/postgres/client.ts';
import type { Viewer } from './policy.ts';

/** Which of several namesakes is meant: the newest that the operation can act on, else the newest visible. */
export type Preference = 'live' | 'editable' | 'to-archive' | 'to-unarchive';

export function createConditions(sql: Sql) {
  const administered = (viewer: Viewer) => (viewer.admin ? sql`true` : sql`owner_id = ${viewer.userId}`);
  const edited = (viewer: Viewer) =>
    viewer.admin ? sql`true` : sql`(owner_id = ${viewer.userId} OR ${viewer.email} = ANY (curators))`;
  const visible = (viewer: Viewer) =>
    viewer.admin
      ? sql`true`
      : sql`(owner_id = ${viewer.userId}
             OR (deleted_at IS NULL AND (status = 'public' OR ${viewer.email} = ANY (curators))))`;

  const preferred = (preference: Preference, viewer: Viewer) =>
    ({
      live: () => sql`deleted_at IS NULL`,
      editable: () => sql`deleted_at IS NULL AND ${edited(viewer)}`,
      'to-archive': () => sql`deleted_at IS NULL AND archived_at IS NULL AND ${edited(viewer)}`,
      'to-unarchive': () => sql`deleted_at IS NULL AND archived_at IS NOT NULL AND ${edited(viewer)}`,
    })[preference]();

  return { administered, edited, visible, preferred };
}
