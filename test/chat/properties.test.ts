// Whatever is done with a conversation, in any order and at once: its counts agree with its rows, its tree is whole, its
// events agree with what was done.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bodyOf } from '../acceptance/support/caller.ts';
import { freshId, type SessionRow } from '../support/chat-client.ts';
import { shared } from '../support/shared.ts';
import { startSetting } from './setting.ts';

const setting = await shared(startSetting());
const chat = await setting.start();

type Step = {
  kind: 'send' | 'fail' | 'again' | 'edit' | 'remove' | 'person';
  pick: number;
  together: boolean;
};

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Step['kind']>('send', 'fail', 'again', 'edit', 'remove', 'person'),
    pick: fc.nat(20),
    together: fc.boolean(),
  }),
  { minLength: 3, maxLength: 25 },
);

test('counts, tree and events stay whole', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const { name, chat_session_id } = await chat.newSession();
      const sent: { id: string; text: string }[] = [];
      const running: Promise<unknown>[] = [];
      const questions = async () =>
        (await chat.transcript(chat_session_id)).filter(({ role }) => role === 'user');
      const run = async ({ kind, pick }: Step): Promise<unknown> => {
        const known = sent[pick % Math.max(1, sent.length)];
        const rows = kind === 'edit' || kind === 'remove' ? await questions() : [];
        const row = rows[pick % Math.max(1, rows.length)];
        if (kind === 'again' && known !== undefined) return chat.send(name, known.text, { id: known.id });
        if (kind === 'edit' && row !== undefined)
          return chat.edit(row.message_id, { message: `edit ${pick}` });
        if (kind === 'remove' && row !== undefined) return chat.remove(row.message_id);
        if (kind === 'person')
          return chat.addAgentMessage(chat_session_id, { message: 'A person', agent_id: 'a@example.com' });
        const message = {
          id: freshId(),
          text: kind === 'fail' ? `[fail upstream-failed] ${freshId()}` : 'question',
        };
        sent.push(message);
        return chat.send(name, message.text, { id: message.id });
      };
      for (const step of given) {
        const done = run(step);
        running.push(done);
        if (!step.together || running.length % 6 === 0) await Promise.all(running);
      }
      await Promise.all(running);

      const rows = await chat.transcript(chat_session_id);
      const { items } = bodyOf<{ items: SessionRow[] }>(await chat.sessions({ limit: 1 }), 200);
      expect(items[0]?.chat_session_id).toBe(chat_session_id);
      expect(items[0]?.message_count).toBe(rows.length);
      const [stored] = await setting.sql<{ pending: number; orphans: number }[]>`
        SELECT s.pending, (SELECT count(*)::int FROM chat_messages m LEFT JOIN chat_messages p ON p.id = m.parent_id
          WHERE m.session_id = s.id AND m.parent_id IS NOT NULL AND (p.id IS NULL OR p.id >= m.id)) AS orphans
        FROM chat_sessions s WHERE s.id = ${chat_session_id}`;
      expect(stored).toEqual({ pending: 0, orphans: 0 });
      // Each answer that is there was told of once; each question too, as new or as an edit.
      const events = await setting.events();
      const told = events
        .filter(({ type }) => type === 'messages.rag.persona.new')
        .map(({ data }) => data['message_id']);
      const answers = rows.filter(({ role, error_msg }) => role === 'assistant' && error_msg === null);
      for (const { message_id } of answers) expect(told.filter((id) => id === message_id).length).toBe(1);
      const asked = events.flatMap(({ type, data }) =>
        type === 'messages.user.new'
          ? data['message_id']
          : type === 'messages.user.update'
            ? data['new_message_id']
            : [],
      );
      for (const { message_id } of rows.filter(({ role }) => role === 'user'))
        expect(asked.filter((id) => id === message_id).length).toBe(1);
    }),
    { numRuns: 40 },
  );
});
