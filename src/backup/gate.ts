// The gate of a move: the database refuses every change from the moment it is closed until it is opened, also where this process
// is killed. The service answers 503 to what would change something, and serves everything else.

import { until } from '../core/wait.ts';
import type { Reserved, Sql, Transaction } from '../infra/postgres/client.ts';
import { withConnection } from '../infra/postgres/copy.ts';
import { quoteName } from '../infra/postgres/tables.ts';

/** A session that was being opened when the gate was closed is among the others by then. */
const OPENING_MS = 1000;
const POLL_MS = 50;
const ENDING_MS_MAX = 20_000;

/** The session itself may be read-only: a move that was killed has left the database so. */
const setReadOnly = async (connection: Reserved, action: string): Promise<void> => {
  await connection`SET default_transaction_read_only = off`;
  const [row] = await connection<{ name: string }[]>`SELECT current_database() AS name`;
  await connection.unsafe(`ALTER DATABASE ${quoteName(row?.name ?? '')} ${action}`);
};

/**
 * Resolves when nothing can change any more: sessions that were opened before are ended, but for that of `connection` and that of
 * `lease`. Their clients open new ones, which are read-only.
 */
export async function closeGate(connection: Reserved, lease: Reserved): Promise<void> {
  const [kept] = await lease<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  await setReadOnly(connection, 'SET default_transaction_read_only = on');
  await Bun.sleep(OPENING_MS);
  const [closed] = await connection<{ at: string }[]>`SELECT clock_timestamp()::text AS at`;
  const isOver = async (): Promise<boolean> => {
    const ended = await connection`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend'
        AND backend_start <= ${closed?.at ?? ''}::timestamptz AND pid NOT IN (pg_backend_pid(), ${kept?.pid ?? 0})`;
    return ended.length === 0;
  };
  if (!(await until(isOver, { everyMs: POLL_MS, timeoutMs: ENDING_MS_MAX })))
    throw new Error('sessions of the database do not end');
}

/** Also where the process that has closed it was killed. */
export async function isGateClosed(sql: Transaction): Promise<boolean> {
  const [row] = await sql<{ closed: boolean }[]>`
    SELECT EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
      WHERE d.datname = current_database() AND s.setrole = 0
        AND 'default_transaction_read_only=on' = ANY (s.setconfig)) AS closed`;
  return row?.closed === true;
}

/** The database takes changes again. Read-only sessions are ended, because they would go on refusing them. */
export async function openGate(sql: Sql): Promise<void> {
  await withConnection(sql, async (connection) => {
    await setReadOnly(connection, 'RESET default_transaction_read_only');
    await connection`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
  });
}
