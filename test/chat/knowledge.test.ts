// What an agent may cite: documents that have the question's words, rare ones weighing more; shown to the model.

import { expect, test } from 'bun:test';
import { createDocumentKnowledge, type FoundDocument } from '../../src/chat/knowledge.ts';
import { shared } from '../support/shared.ts';
import { EMAIL, keyOf, startSetting } from './setting.ts';

const documentOf = (name: string, summary: string): FoundDocument => ({
  ...{ id: name, name, summary, tags: ['manual'], categories: null, slots: { page: 3 } },
});
const LIBRARY = [
  documentOf('pump.txt', 'How the pump is reset after a failure'),
  documentOf('valve.txt', 'How the valve is opened'),
  documentOf('how.txt', 'How to write'),
];

type Asked = { email: string; text: string };
const asked: Asked[] = [];

/** A fake search: documents whose summary has the word. */
const search = async (person: { workspaceId: string; email: string }, text: string) => {
  asked.push({ email: person.email, text });
  if (text === 'broken') throw new Error('the fake search is broken');
  const documents = LIBRARY.filter(({ summary }) => summary?.toLowerCase().includes(text));
  return { documents, total: documents.length };
};

const setting = await shared(startSetting());
const chat = await setting.start({ searchDocuments: search });
await chat.putAgent('reader', {
  name: 'Reader',
  kind: 'persona',
  instructions: 'Read.',
  knowledge: 'documents',
});
await chat.putAgent('other', { name: 'Other', kind: 'persona' });

test('the document with the most of the rare words comes first, and what has little to do with them not at all', async () => {
  const found = await createDocumentKnowledge(search).find({
    workspaceId: 'acme',
    email: EMAIL,
    text: 'How is the PUMP reset, when there is a failure?',
  });
  expect(found.map(({ name }) => name)).toEqual(['pump.txt', 'valve.txt']);
  const [pump, valve] = found;
  expect(pump?.score).toBe(1);
  expect(valve?.score).toBeLessThan(0.5);
  expect(pump?.text).toBe('How the pump is reset after a failure\nTags: manual\n{"page":3}');
});

test('nothing is found for a question without words, or with none that any document has', async () => {
  const knowledge = createDocumentKnowledge(search);
  for (const text of ['', '?!', 'zebra quagga', 'a b c'])
    expect(await knowledge.find({ workspaceId: 'acme', email: EMAIL, text })).toEqual([]);
});

test('a question of half a megabyte costs few words of what people type, from its beginning and its end', async () => {
  const texts: string[] = [];
  const knowledge = createDocumentKnowledge(async (_, text) => {
    texts.push(text);
    return { documents: [], total: 0 };
  });
  const find = (text: string) => knowledge.find({ workspaceId: 'acme', email: EMAIL, text });
  await find(`beginning ${'filler '.repeat(70_000)} ending`);
  expect(texts.toSorted()).toEqual(['beginning', 'ending', 'filler']);
  texts.splice(0);
  await find(`${'x'.repeat(65)} ${'é'.repeat(200_000)} pump`);
  expect(texts).toEqual(['pump']);
});

test('an agent with knowledge cites it, and its model is shown it; one without does not look', async () => {
  const { name, chat_session_id } = await chat.newSession({ agi_id: 'reader' });
  const answer = await chat.ask(name, 'reset the pump');
  expect(answer.citations).toEqual(
    [
      { document_id: 'pump.txt', name: 'pump.txt', score: 1 },
      { document_id: 'valve.txt', name: 'valve.txt', score: expect.any(Number) },
      { document_id: 'how.txt', name: 'how.txt', score: expect.any(Number) },
    ].slice(0, answer.citations.length),
  );
  const shown = chat.model.calls.at(-1)?.messages ?? [];
  expect(shown.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
  expect(shown[0]?.content).toStartWith('Read.\n\n');
  expect(shown[1]?.content).toContain('<document name="pump.txt">\nHow the pump is reset after a failure');
  expect((await chat.transcript(chat_session_id)).at(-1)?.citations).toEqual(answer.citations);
  expect(new Set(asked.map(({ email }) => email))).toEqual(new Set([EMAIL]));
  // What was shown for one question is not remembered for the next.
  await chat.ask(name, 'zebra');
  expect(chat.model.calls.at(-1)?.messages.map(({ content }) => content)).toEqual([
    'Read.',
    'reset the pump',
    answer.answer,
    'zebra',
  ]);
  const before = asked.length;
  const plain = await chat.newSession({ agi_id: 'other' });
  expect((await chat.ask(plain.name, 'reset the pump')).citations).toEqual([]);
  expect(asked.length).toBe(before);
});

test('what a page of messages cites is asked for once, and not at all where nothing is cited or may be', async () => {
  const lookups: { userId: string; ids: readonly string[] }[] = [];
  const own = await setting.start({
    searchDocuments: search,
    visibleDocuments: async ({ userId }, ids) => {
      lookups.push({ userId, ids });
      return new Set(ids.filter((id) => id !== 'how.txt'));
    },
  });
  const owner = own.as(keyOf('owner', 'documents:read'));
  const { name, chat_session_id } = await owner.newSession({ agi_id: 'reader' });
  await owner.ask(name, 'zebra');
  expect(lookups).toEqual([]);
  for (const text of ['how to write', 'reset the pump']) await owner.ask(name, text);
  lookups.splice(0);
  const rows = await owner.transcript(chat_session_id);
  const cited = rows.flatMap(({ citations }) => citations.map(({ document_id }) => document_id));
  expect(new Set(cited)).toEqual(new Set(['pump.txt', 'valve.txt']));
  expect(lookups).toEqual([{ userId: 'owner', ids: expect.arrayContaining(['how.txt', 'pump.txt']) }]);
  expect(new Set(lookups[0]?.ids).size).toBe(lookups[0]?.ids.length ?? 0);
  lookups.splice(0);
  const unscoped = await own.as(keyOf('owner')).transcript(chat_session_id);
  expect(unscoped.flatMap(({ citations }) => citations)).toEqual([]);
  expect(lookups).toEqual([]);
});

test('a search that fails costs the citations, not the answer', async () => {
  const { name } = await chat.newSession({ agi_id: 'reader' });
  expect((await chat.ask(name, 'broken')).citations).toEqual([]);
});
