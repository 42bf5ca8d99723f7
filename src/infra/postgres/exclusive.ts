import type { Sql } from './client.ts';

/**
 * Runs something that only one process may do at a time; returns at once, without running it, while another does.
 * The lock lives as long as its connection, which is closed at the end: a killed process frees it.
 */
export async function exclusively(sql: Sql, name: string, run: () => Promise<void>): Promise<void> {
  const connection = sql.reserve();
  try {
    const [row] = await connection<
      { held: boolean }[]
    >`SELECT pg_try_advisory_lock(hashtextextended(${name}, 0)) AS held`;
    if (row?.held !== true) return;
    await run();
  } finally {
    // The lock goes with the connection.
    connection.release();
  }
}
