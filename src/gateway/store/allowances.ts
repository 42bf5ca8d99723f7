import type { Sql } from '../../infra/postgres/client.ts';

/** Until when allowances are spoken for (milliseconds since 1970), and what was spent in the month. */
export type Used = { requestsAt: number; tokensAt: number; month: number; spent: number };

/** What running requests may use: allowance as milliseconds of its minute, and money. */
type Reserved = { tokensMs: number; cost: number };

/** What a process has used since it told last, and all that it has reserved now. */
export type Increase = {
  keyId: string;
  requestsMs: number;
  tokensMs: number;
  month: number;
  spent: number;
  reserved: Reserved;
};

/** What all processes have used, and what the others have reserved. */
export type Shared = { used: Used; elsewhere: Reserved };

export type AllowanceStore = {
  find(keyId: string, nowMs: number): Promise<Shared | undefined>;
  /**
   * Adds what was used, puts what is reserved in the place of what this process had reserved, and gives what all know:
   * one statement, whatever the number of keys. A reservation that is not told again within the lease is void.
   */
  share(told: {
    processId: string;
    increases: readonly Increase[];
    nowMs: number;
    leaseMs: number;
  }): Promise<Map<string, Shared>>;
  /** Deletes void reservations. */
  sweep(nowMs: number): Promise<void>;
};

type Row = {
  key_id: string;
  requests_at: number;
  tokens_at: number;
  month: number;
  spent: number;
  reserved_tokens_ms: number;
  reserved_cost: number;
};

export function createAllowanceStore(sql: Sql): AllowanceStore {
  return {
    async find(keyId, nowMs) {
      const [row] = await sql<Row[]>`
        SELECT key_id, requests_at, tokens_at, month, spent,
          coalesce(reserved.tokens_ms, 0) AS reserved_tokens_ms, coalesce(reserved.cost, 0) AS reserved_cost
        FROM model_allowances a CROSS JOIN LATERAL (
          SELECT sum(r.tokens_ms) AS tokens_ms, sum(r.cost) AS cost FROM model_reservations r
          WHERE r.key_id = a.key_id AND r.expires_at > ${nowMs}::float8) AS reserved
        WHERE key_id = ${keyId}`;
      return row === undefined ? undefined : toShared(row);
    },
    async share({ processId, increases, nowMs, leaseMs }) {
      const numbers = (read: (increase: Increase) => number): number[] => increases.map(read);
      // The rows of `used` are locked before any reservation is touched: two processes cannot wait for each other.
      const rows = await sql<Row[]>`
        WITH told AS (
          SELECT * FROM unnest(
            ${increases.map(({ keyId }) => keyId)}::text[], ${numbers(({ requestsMs }) => requestsMs)}::float8[],
            ${numbers(({ tokensMs }) => tokensMs)}::float8[], ${numbers(({ month }) => month)}::int[],
            ${numbers(({ spent }) => spent)}::float8[], ${numbers(({ reserved }) => reserved.tokensMs)}::float8[],
            ${numbers(({ reserved }) => reserved.cost)}::float8[])
          AS t (key_id, requests_ms, tokens_ms, month, spent, reserved_tokens_ms, reserved_cost)
        ), used AS (
          INSERT INTO model_allowances AS a (key_id, requests_at, tokens_at, month, spent)
          SELECT key_id, ${nowMs}::float8 + requests_ms, ${nowMs}::float8 + tokens_ms, month, spent
          FROM told ORDER BY key_id
          ON CONFLICT (key_id) DO UPDATE SET
            requests_at = greatest(a.requests_at, ${nowMs}::float8) + excluded.requests_at - ${nowMs}::float8,
            tokens_at = greatest(a.tokens_at, ${nowMs}::float8) + excluded.tokens_at - ${nowMs}::float8,
            spent = CASE WHEN a.month = excluded.month THEN a.spent + excluded.spent
              WHEN a.month < excluded.month THEN excluded.spent ELSE a.spent END,
            month = greatest(a.month, excluded.month)
          RETURNING key_id, requests_at, tokens_at, month, spent
        ), reserved AS (
          INSERT INTO model_reservations AS r (key_id, process_id, tokens_ms, cost, expires_at)
          SELECT key_id, ${processId}, reserved_tokens_ms, reserved_cost, ${nowMs}::float8 + ${leaseMs}::float8
          FROM told JOIN used USING (key_id) WHERE reserved_tokens_ms > 0 OR reserved_cost > 0
          ON CONFLICT (key_id, process_id) DO UPDATE SET
            tokens_ms = excluded.tokens_ms, cost = excluded.cost, expires_at = excluded.expires_at
        ), given_back AS (
          DELETE FROM model_reservations r USING told JOIN used USING (key_id)
          WHERE r.key_id = told.key_id AND r.process_id = ${processId}
            AND reserved_tokens_ms = 0 AND reserved_cost = 0
        )
        SELECT key_id, requests_at, tokens_at, month, used.spent,
          coalesce(others.tokens_ms, 0) AS reserved_tokens_ms, coalesce(others.cost, 0) AS reserved_cost
        FROM used CROSS JOIN LATERAL (
          SELECT sum(r.tokens_ms) AS tokens_ms, sum(r.cost) AS cost FROM model_reservations r
          WHERE r.key_id = used.key_id AND r.process_id <> ${processId}
            AND r.expires_at > ${nowMs}::float8) AS others`;
      return new Map(rows.map((row) => [row.key_id, toShared(row)]));
    },
    async sweep(nowMs) {
      await sql`DELETE FROM model_reservations WHERE expires_at <= ${nowMs}::float8`;
    },
  };
}

const toShared = ({
  requests_at,
  tokens_at,
  month,
  spent,
  reserved_tokens_ms,
  reserved_cost,
}: Row): Shared => ({
  used: { requestsAt: requests_at, tokensAt: tokens_at, month, spent },
  elsewhere: { tokensMs: reserved_tokens_ms, cost: reserved_cost },
});
