// A bot's answer from its list, however long the message is, and however much its matches resemble it.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { replyTo } from '../../src/chat/generate.ts';

const { signal } = new AbortController();
const around = 'x'.repeat(8190);

test('is the first whose match is part of the message, in any case, wherever it is', async () => {
  const match = fc.constantFrom('ab', 'ba', 'AAb', '*', 'b', 'é', 'xA', 'abax');
  const message = fc.array(fc.constantFrom('a', 'B', 'É', around)).map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(fc.array(match), message, async (matches, text) => {
      const replies = matches.map((each, index) => ({ match: each, reply: `${index}` }));
      const lower = text.toLowerCase();
      const first = matches.findIndex((each) => each === '*' || lower.includes(each.toLowerCase()));
      expect(await replyTo(replies, text, signal)).toBe(first === -1 ? '' : `${first}`);
    }),
  );
});

test('lets other work run while it is sought, and ends when nobody wants it', async () => {
  const half = 'a'.repeat(250);
  const replies = Array.from({ length: 1000 }, (_, index) => ({
    match: `${half}b${half}`,
    reply: `${index}`,
  }));
  const ending = new AbortController();
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (turns < 3) setImmediate(count);
    else ending.abort(new Error('enough'));
  };
  setImmediate(count);
  const answer = replyTo(replies, 'a'.repeat(524_288), ending.signal);
  await expect(answer).rejects.toThrow('enough');
});
