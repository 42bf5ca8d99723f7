/** Rows of the audit log, written by the statements of the changes that they describe. */
import type { Author } from '../../core/author.ts';
import type { Fragment, Transaction } from './client.ts';

export type AuditEntry = {
  /** The id of the operation that makes such a change. */
  action: string;
  /** Empty for a change of the service as a whole. */
  workspace: Fragment | string;
  kind: string;
  id: Fragment | string | null;
  /** Objects of jsonb without secrets; absent: there was, or is, nothing. */
  before?: Fragment;
  after?: Fragment;
  /** Members of the author that only the statement knows. */
  by?: Fragment;
};

/**
 * An expression that writes one row for each row that the caller's statement returns. It is to stand in the list of a
 * SELECT or RETURNING clause, so that the change and its row are committed together or not at all.
 */
export const audited = (sql: Transaction, author: Author, entry: AuditEntry): Fragment => sql`
  audit_tell(${sql.json(author)}::jsonb || ${entry.by ?? sql`'{}'::jsonb`}, (${entry.workspace})::text,
    ${entry.action}, ${entry.kind}, (${entry.id})::text, ${entry.before ?? sql`NULL`}, ${entry.after ?? sql`NULL`})`;
