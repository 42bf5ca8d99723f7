// The history of a question is the end of its branch, however many replaced questions lie between its messages.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readHistory } from '../../src/chat/history.ts';
import { BYTES_PER_TOKEN, TOKENS_PER_MESSAGE } from '../../src/chat/limits.ts';
import type { Said } from '../../src/chat/turn.ts';
import { testDatabase } from '../support/database.ts';

/** Each message follows the one that stands `back` places before it (the first ones follow none); '' was deleted. */
const tree = fc.array(fc.record({ back: fc.constantFrom(1, 1, 1, 1, 2, 3, 9), length: fc.nat(12) }), {
  minLength: 1,
  maxLength: 40,
});
type Row = { id: number; parentId: number | null; message: string };

/** The same by its definition. */
function endOfBranch(rows: readonly Row[], messagesMax: number, tokensMax: number): Said[] {
  const branch: Row[] = [];
  for (let row = rows.at(-1); row !== undefined; row = rows.find(({ id }) => id === branch.at(-1)?.parentId))
    branch.push(row);
  let tokens = 0;
  const said = branch.slice(0, messagesMax).filter(({ message }) => message !== '');
  const end = said.findIndex(({ message }) => {
    tokens += TOKENS_PER_MESSAGE + Math.ceil(Buffer.byteLength(message) / BYTES_PER_TOKEN);
    return tokens > tokensMax;
  });
  const within = end === -1 ? said : said.slice(0, end);
  return within.map(({ message }) => ({ role: 'user' as const, message })).reverse();
}

test('history takes one statement, whatever was replaced', async () => {
  await using database = await testDatabase();
  const { sql } = database;
  const window = { messagesMax: 60, tokensMax: 10_000 };
  // Of each turn: a long question, the short one in its place, and the answer.
  await sql`
    INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message)
    SELECT 3 * turn + part, 1, 'acme', CASE WHEN part = 2 THEN 3 * turn + 1 WHEN turn > 1 THEN 3 * turn - 1 END,
      CASE WHEN part = 2 THEN 'assistant' ELSE 'user' END,
      CASE part WHEN 0 THEN ${'q'.repeat(40_000)} WHEN 1 THEN 'question ' || turn ELSE 'answer ' || turn END
    FROM generate_series(1, 100) AS turn, generate_series(0, 2) AS part`;
  expect((await readHistory(sql, 302, window)).map(({ message }) => message)).toEqual(
    Array.from({ length: 30 }, (_, index) => [`question ${71 + index}`, `answer ${71 + index}`]).flat(),
  );
});

test('history is the end of the branch within its messages and tokens', async () => {
  await using database = await testDatabase();
  let lastId = 1_000_000;
  let sessionId = 0;
  await fc.assert(
    fc.asyncProperty(tree, fc.integer({ min: 1, max: 12 }), fc.nat(60), async (given, messages, tokens) => {
      sessionId += 1;
      const firstId = lastId + 1;
      const rows = given.map(({ back, length }, index): Row => {
        lastId += 1;
        return {
          id: lastId,
          parentId: index < back ? null : firstId + index - back,
          message: 'ü'.repeat(length),
        };
      });
      await database.sql`
        INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message)
        SELECT id, ${sessionId}, 'acme', "parentId", 'user', message
        FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS row (id bigint, "parentId" bigint, message text)`;
      const read = await readHistory(database.sql, lastId, { messagesMax: messages, tokensMax: tokens });
      expect(read.map(({ role, message }) => ({ role, message }))).toEqual(
        endOfBranch(rows, messages, tokens),
      );
    }),
  );
});
