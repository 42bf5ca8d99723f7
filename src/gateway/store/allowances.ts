import type { Sql } from '../../infra/postgres/client.ts';

/** Until when allowances are spoken for (milliseconds since 1970), and what was spent in the month. */
export type Used = { requestsAt: number; tokensAt: number; month: number; spent: number };

export type Increase = { keyId: string; requestsMs: number; tokensMs: number; month: number; spent: number };

export type AllowanceStore = {
  find(keyId: string): Promise<Used | undefined>;
  /** Adds what was used, and gives what all have used: one statement, whatever the number of keys. */
  add(increases: readonly Increase[], nowMs: number): Promise<Map<string, Used>>;
};

type Row = { key_id: string; requests_at: number; tokens_at: number; month: number; spent: number };

export function createAllowanceStore(sql: Sql): AllowanceStore {
  return {
    async find(keyId) {
      const [row] = await sql<Row[]>`
        SELECT key_id, requests_at, tokens_at, month, spent FROM model_allowances WHERE key_id = ${keyId}`;
      return row === undefined ? undefined : toUsed(row);
    },
    async add(increases, nowMs) {
      const rows = await sql<Row[]>`
        INSERT INTO model_allowances AS a (key_id, requests_at, tokens_at, month, spent)
        SELECT key_id, ${nowMs}::float8 + requests_ms, ${nowMs}::float8 + tokens_ms, month, spent
        FROM unnest(
          ${increases.map(({ keyId }) => keyId)}::text[], ${increases.map(({ requestsMs }) => requestsMs)}::float8[],
          ${increases.map(({ tokensMs }) => tokensMs)}::float8[], ${increases.map(({ month }) => month)}::int[],
          ${increases.map(({ spent }) => spent)}::float8[]) AS used (key_id, requests_ms, tokens_ms, month, spent)
        ORDER BY key_id
        ON CONFLICT (key_id) DO UPDATE SET
          requests_at = greatest(a.requests_at, ${nowMs}::float8) + excluded.requests_at - ${nowMs}::float8,
          tokens_at = greatest(a.tokens_at, ${nowMs}::float8) + excluded.tokens_at - ${nowMs}::float8,
          spent = CASE WHEN a.month = excluded.month THEN a.spent + excluded.spent
            WHEN a.month < excluded.month THEN excluded.spent ELSE a.spent END,
          month = greatest(a.month, excluded.month)
        RETURNING key_id, requests_at, tokens_at, month, spent`;
      return new Map(rows.map((row) => [row.key_id, toUsed(row)]));
    },
  };
}

const toUsed = ({ requests_at, tokens_at, month, spent }: Row): Used => ({
  requestsAt: requests_at,
  tokensAt: tokens_at,
  month,
  spent,
});
