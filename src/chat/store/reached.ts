import type { Transaction } from '../../infra/postgres/client.ts';
import type { Reach } from '../caller.ts';

/** Of a row of `chat_sessions`: whether the caller may reach it. */
export const reachedBy = (sql: Transaction, { userId, admin }: Reach) =>
  admin ? sql`true` : sql`user_id = ${userId}`;
