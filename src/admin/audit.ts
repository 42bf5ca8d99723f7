import { COMMAND_LINE } from '../core/author.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Sql } from '../infra/postgres/client.ts';

/** Maintenance is no transaction: its row of the audit log is written before the work, so that none is done without one. */
export async function recordMaintenance(sql: Sql, action: string, kind: string): Promise<void> {
  await sql`SELECT ${audited(sql, COMMAND_LINE, { action, workspace: '', kind, id: null })}`;
}
