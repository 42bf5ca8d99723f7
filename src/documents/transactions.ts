import { sleep } from '../core/wait.ts';
import type { Sql } from '../infra/postgres/client.ts';

const POLL_MS = 20;

/**
 * Resolves when all transactions have ended that had begun to write before this call. Whatever was committed before it is seen by all
 * others.
 */
export async function waitForEarlierTransactions(sql: Sql, signal: AbortSignal): Promise<void> {
  const [now] = await sql<{ end: string }[]>`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS end`;
  for (;;) {
    signal.throwIfAborted();
    const [row] = await sql<{ ended: boolean }[]>`
      SELECT pg_snapshot_xmin(pg_current_snapshot()) >= ${now?.end ?? '0'}::text::xid8 AS ended`;
    if (row?.ended === true) return;
    await sleep(POLL_MS, signal);
  }
}
