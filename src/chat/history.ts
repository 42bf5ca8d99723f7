// The messages before a question: the end of its branch, within the window of the agent.

import type { Transaction } from '../infra/postgres/client.ts';
import { BYTES_PER_TOKEN, TOKENS_PER_MESSAGE } from './limits.ts';
import type { Said } from './turn.ts';

/** How many messages, and about how many tokens, a model receives. */
export type Window = { messagesMax: number; tokensMax: number };

/**
 * Reads a branch backwards from its last message, an access of the index for each; so its cost does not depend on the length of the
 * conversation, and replaced questions cost nothing. Deleted messages are left out.
 */
export async function readHistory(
  sql: Transaction,
  lastId: number | null,
  { messagesMax, tokensMax }: Window,
): Promise<Said[]> {
  if (lastId === null || messagesMax === 0 || tokensMax === 0) return [];
  const rows = await sql<Said[]>`
    WITH RECURSIVE branch AS (
      SELECT id, parent_id, role, message, octet_length(message)::bigint AS bytes, 1 AS depth
      FROM chat_messages WHERE id = ${lastId}
      UNION ALL
      SELECT m.id, m.parent_id, m.role, m.message, b.bytes + octet_length(m.message), b.depth + 1
      FROM branch b JOIN chat_messages m ON m.id = b.parent_id
      WHERE b.depth < ${messagesMax} AND b.bytes < ${tokensMax * BYTES_PER_TOKEN})
    SELECT role, message FROM branch WHERE message <> '' ORDER BY depth`;
  let tokens = 0;
  const beyond = rows.findIndex(({ message }) => {
    tokens += TOKENS_PER_MESSAGE + Math.ceil(Buffer.byteLength(message) / BYTES_PER_TOKEN);
    return tokens > tokensMax;
  });
  return (beyond === -1 ? rows : rows.slice(0, beyond)).reverse();
}
