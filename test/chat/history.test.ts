// The history of a question is the end of its branch, however many replaced questions lie between its messages.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createTurnStore } from '../../src/chat/store/turns.ts';
import type { Said } from '../../src/chat/turn.ts';
import { testDatabase } from '../support/database.ts';

/** Each message follows the one that stands `back` places before it (the first ones follow none); '' was deleted. */
const tree = fc.array(fc.record({ back: fc.constantFrom(1, 1, 1, 1, 2, 3, 9), length: fc.nat(12) }), {
  minLength: 1,
  maxLength: 40,
});
type Row = { id: number; parentId: number | null; message: string };

/** The same by its definition. */
function endOfBranch(rows: readonly Row[], messagesMax: number, bytesMax: number): Said[] {
  const said: Said[] = [];
  let row = rows.at(-1);
  for (let bytes = 0, depth = 0; row !== undefined && depth < messagesMax && bytes < bytesMax; depth++) {
    const { parentId, message } = row;
    bytes += Buffer.byteLength(message);
    if (bytes <= bytesMax && message !== '') said.unshift({ role: 'user', message });
    row = rows.find(({ id }) => id === parentId);
  }
  return said;
}

test('history takes two statements and about twice its bytes at most, whatever was replaced', async () => {
  await using database = await testDatabase();
  const read = { statements: 0, bytes: 0 };
  const counting = async (...given: Parameters<typeof database.sql>) => {
    const rows = (await database.sql(...given)) as unknown as { message: string }[];
    read.statements += 1;
    for (const { message } of rows) read.bytes += message.length;
    return rows;
  };
  const { history } = createTurnStore(counting as unknown as typeof database.sql, crypto.randomUUID());
  const limits = { messagesMax: 60, bytesMax: 40_000 };
  // Of each turn: a long question, the short one in its place, and the answer.
  const long = 'q'.repeat(limits.bytesMax);
  await database.sql`
    INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message)
    SELECT 3 * turn + part, 1, 'acme', CASE WHEN part = 2 THEN 3 * turn + 1 WHEN turn > 1 THEN 3 * turn - 1 END,
      CASE WHEN part = 2 THEN 'assistant' ELSE 'user' END,
      CASE part WHEN 0 THEN ${long} WHEN 1 THEN 'question ' || turn ELSE 'answer ' || turn END
    FROM generate_series(1, 100) AS turn, generate_series(0, 2) AS part`;
  const said = await history(302, limits);
  expect(said.map(({ message }) => message)).toEqual(
    Array.from({ length: 30 }, (_, index) => [`question ${71 + index}`, `answer ${71 + index}`]).flat(),
  );
  expect(read.statements).toBeLessThanOrEqual(2);
  expect(read.bytes).toBeLessThanOrEqual(3 * limits.bytesMax);
});

test('history is the end of the branch within its messages and bytes', async () => {
  await using database = await testDatabase();
  const { history } = createTurnStore(database.sql, crypto.randomUUID());
  let lastId = 1_000_000;
  let sessionId = 0;
  await fc.assert(
    fc.asyncProperty(tree, fc.integer({ min: 1, max: 12 }), fc.nat(60), async (given, messages, bytes) => {
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
      const read = await history(lastId, { messagesMax: messages, bytesMax: bytes });
      expect(read.map(({ role, message }) => ({ role, message }))).toEqual(
        endOfBranch(rows, messages, bytes),
      );
    }),
  );
});
