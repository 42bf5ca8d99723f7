// What an agent may cite: passages of texts and records of documents, found for a question in its conversation, within a
// time; shown to the model, and kept with the answer that rests on them.

import { describe, expect, test } from 'bun:test';
import {
  createKnowledge,
  type FoundPassage,
  type KnowledgeDeps,
  type RetrievePassages,
} from '../../src/chat/knowledge.ts';
import { createCounts } from '../../src/chat/metrics.ts';
import { createRecordSearch, type FoundDocument } from '../../src/chat/records.ts';
import type { Inquiry } from '../../src/chat/turn.ts';
import { type AnswerBody, eventsOf } from '../support/chat-client.ts';
import { silentLog } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { EMAIL, keyOf, startSetting } from './setting.ts';

const documentOf = (name: string, summary: string): FoundDocument => ({
  id: name,
  name,
  summary,
  tags: ['manual'],
  categories: null,
  slots: { page: 3 },
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

const inquiryOf = (question: string, ...earlier: string[]): Inquiry => ({
  workspaceId: 'acme',
  email: EMAIL,
  question,
  earlier,
});
const namesOf = (found: readonly { passage: { name: string } }[]) => found.map(({ passage }) => passage.name);

describe('records', () => {
  const find = createRecordSearch(search);

  test('with the most of the rare words come first, and what has little to do with them not at all', async () => {
    const found = await find(inquiryOf('How is the PUMP reset, when there is a failure?'));
    expect(namesOf(found)).toEqual(['pump.txt', 'valve.txt']);
    const [pump, valve] = found.map(({ passage }) => passage);
    expect(pump?.score).toBe(1);
    expect(valve?.score).toBeLessThan(0.5);
    expect(pump?.text).toBe('How the pump is reset after a failure\nTags: manual\n{"page":3}');
  });

  test('are none for a question without words, or with none that any document has', async () => {
    for (const text of ['', '?!', 'zebra quagga', 'a b c']) expect(await find(inquiryOf(text))).toEqual([]);
  });

  test('are sought by few words of half a megabyte, from its beginning and its end', async () => {
    const texts: string[] = [];
    const watch = createRecordSearch(async (_, text) => {
      texts.push(text);
      return { documents: [], total: 0 };
    });
    await watch(inquiryOf(`beginning ${'filler '.repeat(70_000)} ending`));
    expect(texts.toSorted()).toEqual(['beginning', 'ending', 'filler']);
    texts.splice(0);
    await watch(inquiryOf(`${'x'.repeat(65)} ${'é'.repeat(200_000)} pump`));
    expect(texts).toEqual(['pump']);
  });

  test('of a question that says little are found by what was asked before, which weighs less', async () => {
    const found = await find(inquiryOf('And the valve?', 'How is the pump reset after a failure?'));
    expect(namesOf(found)).toEqual(['pump.txt', 'valve.txt']);
    const [own] = await find(inquiryOf('opened valve', 'pump'));
    expect(own?.passage.name).toBe('valve.txt');
  });
});

/** A fake retrieval that finds these, and keeps what it was asked. */
function retrievalOf(found: (query: string) => readonly Partial<FoundPassage>[]) {
  const queries: string[] = [];
  const retrieve: RetrievePassages = async (_, { query }) => {
    queries.push(query);
    const whole = {
      documentId: 'd',
      passage: 0,
      name: 'd.pdf',
      page: null,
      heading: null,
      text: '',
      score: 0.5,
    };
    return { passages: found(query).map((each) => ({ ...whole, ...each })) };
  };
  return { queries, retrieve };
}

const NOTHING = async () => ({ documents: [], total: 0 });

function knowledgeWith(deps: Partial<KnowledgeDeps>) {
  const counts = createCounts();
  const { retrieve } = retrievalOf(() => []);
  const knowledge = createKnowledge({
    retrieve,
    searchDocuments: NOTHING,
    counts,
    log: silentLog,
    timeoutMs: 60_000,
    ...deps,
  });
  const find = (inquiry: Inquiry, signal = new AbortController().signal) => knowledge.find(inquiry, signal);
  return {
    get counts() {
      return { ...counts.retrievals, ...counts.retrievalFailures };
    },
    find,
  };
}

describe('passages', () => {
  const numbers = (from: number) =>
    [0, 1, 2, 3, 4, 5].map((at) => ({ passage: from + at, text: `${from + at}` }));

  test('are sought by the question alone where it is the first', async () => {
    const { queries, retrieve } = retrievalOf(() => [
      { page: 4, heading: 'Hours', text: 'Open', score: 0.66666 },
    ]);
    const { passages } = await knowledgeWith({ retrieve }).find(inquiryOf('When?'));
    expect(queries).toEqual(['When?']);
    expect(passages).toEqual([
      { document_id: 'd', name: 'd.pdf', page: 4, heading: 'Hours', text: 'Open', score: 0.667 },
    ]);
  });

  test('of a question that goes on are sought with what was asked before and without it, and both have their places', async () => {
    const { queries, retrieve } = retrievalOf((query) => numbers(query.includes('shop') ? 0 : 3));
    const asked = inquiryOf('And in winter?', 'When is the shop open?', 'On Sundays?');
    const { passages } = await knowledgeWith({ retrieve }).find(asked);
    expect(queries).toEqual(['When is the shop open?\nOn Sundays?\nAnd in winter?', 'And in winter?']);
    expect(passages.map(({ text }) => text)).toEqual(['0', '3', '1', '4', '2', '5']);
  });

  test('are sought by the ends of half a megabyte, and not at all for blanks', async () => {
    const { queries, retrieve } = retrievalOf(() => []);
    await knowledgeWith({ retrieve }).find(inquiryOf(`a ${'😀'.repeat(200_000)} z`, 'x'.repeat(500_000)));
    for (const query of queries) expect([query.length < 1600, query.isWellFormed()]).toEqual([true, true]);
    expect(queries[1]).toMatch(/^a .* z$/u);
    queries.splice(0);
    await knowledgeWith({ retrieve }).find(inquiryOf(' \n', 'What?'));
    expect(queries).toEqual([]);
  });

  test('and records are one list: a record adds what passages of its document do not have', async () => {
    const searchDocuments = search;
    const { retrieve } = retrievalOf(() => [
      { documentId: 'pump.txt', name: 'pump.txt', text: 'Reset the pump after a failure.', score: 0.9 },
    ]);
    const { find } = knowledgeWith({ retrieve, searchDocuments });
    const found = async (question: string) =>
      (await find(inquiryOf(question))).passages.map(({ name, text }) => `${name}: ${text.split('\n')[0]}`);
    expect(await found('reset pump')).toEqual(['pump.txt: Reset the pump after a failure.']);
    expect(await found('reset valve')).toEqual([
      'pump.txt: Reset the pump after a failure.',
      'valve.txt: How the valve is opened',
    ]);
    const hidden = retrievalOf(() => [
      { documentId: 'pump.txt', name: 'pump.txt', text: 'Oil it.', score: 0.4 },
    ]);
    const other = knowledgeWith({ retrieve: hidden.retrieve, searchDocuments });
    const { passages } = await other.find(inquiryOf('reset pump'));
    expect(passages.map(({ text }) => text.split('\n')[0])).toEqual([
      'How the pump is reset after a failure',
      'Oil it.',
    ]);
  });
});

describe('a search', () => {
  const TEXT = [{ text: 'Reset the pump.' }];

  test('that fails, or is late, or pays no heed, costs what it would have found, and is counted', async () => {
    const failing = async () => {
      throw new Error('the fake search is broken');
    };
    const failed = knowledgeWith({ retrieve: failing, searchDocuments: search });
    const found = await failed.find(inquiryOf('reset pump'));
    expect([found.isWhole, found.passages.map(({ name }) => name)]).toEqual([false, ['pump.txt']]);
    expect(failed.counts).toEqual({ found: 1, empty: 0, failed: 1, late: 0 });

    let ended: AbortSignal | undefined;
    const hanging: RetrievePassages = (_, __, signal) => {
      ended = signal;
      return new Promise(() => undefined);
    };
    const late = knowledgeWith({ retrieve: hanging, searchDocuments: search, timeoutMs: 100 });
    const rest = await late.find(inquiryOf('reset pump'));
    expect([rest.isWhole, rest.passages.map(({ name }) => name)]).toEqual([false, ['pump.txt']]);
    expect(late.counts).toEqual({ found: 1, empty: 0, failed: 0, late: 1 });
    expect(ended?.aborted).toBe(true);

    const { retrieve } = retrievalOf(() => TEXT);
    const withoutRecords = knowledgeWith({ retrieve, searchDocuments: failing });
    expect((await withoutRecords.find(inquiryOf('reset pump'))).passages.length).toBe(1);
    const neither = knowledgeWith({ retrieve: failing, searchDocuments: failing });
    expect(await neither.find(inquiryOf('reset pump'))).toEqual({ passages: [], isWhole: false });
    expect(neither.counts).toEqual({ found: 0, empty: 1, failed: 2, late: 0 });
  });

  test('ends with its reason where nobody waits for the answer any more', async () => {
    const leaving = new AbortController();
    const retrieve: RetrievePassages = () => {
      leaving.abort(new Error('the service ends'));
      return new Promise(() => undefined);
    };
    await expect(knowledgeWith({ retrieve }).find(inquiryOf('pump'), leaving.signal)).rejects.toThrow(
      'the service ends',
    );
  });
});

const OPEN = {
  documentId: 'hours',
  passage: 2,
  name: 'hours.pdf',
  page: 3,
  heading: 'Opening hours',
  score: 0.8,
};
const answering = retrievalOf((query) =>
  query.includes('broken')
    ? raise('the fake retrieval is broken')
    : query.includes('open')
      ? [{ ...OPEN, text: 'In summer from nine to five. In winter at ten.' }]
      : [],
);
function raise(sentence: string): never {
  throw new Error(sentence);
}

const setting = await shared(startSetting());
const chat = await setting.start({ searchDocuments: search, retrieve: answering.retrieve });
const READER = { name: 'Reader', kind: 'persona', instructions: 'Read.', knowledge: 'documents' };
await chat.putAgent('reader', READER);
await chat.putAgent('other', { name: 'Other', kind: 'persona' });

describe('an agent', () => {
  const HOURS = {
    number: 1,
    document_id: 'hours',
    name: 'hours.pdf',
    page: 3,
    heading: 'Opening hours',
    quote: 'In winter at ten.',
    score: 0.8,
  };

  test('with knowledge keeps the citations that its answer names, which its model is shown', async () => {
    const { name, chat_session_id } = await chat.newSession({ agi_id: 'reader' });
    // The model repeats the question, with its number.
    const answer = await chat.ask(name, 'open in winter [2]');
    expect(answer.answer).toEndWith('to: open in winter [1]');
    expect(answer.citations).toEqual([HOURS]);
    const shown = chat.model.calls.at(-1)?.messages ?? [];
    expect(shown.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(shown[0]?.content).toStartWith('Read.\n\n');
    expect(shown[1]?.content).toContain('<document number="1" name="valve.txt">\nHow the valve is opened');
    expect(shown[1]?.content).toContain(
      '<document number="2" name="hours.pdf" page="3" heading="Opening hours">\nIn summer',
    );
    expect((await chat.transcript(chat_session_id)).at(-1)?.citations).toEqual(answer.citations);
    expect(new Set(asked.map(({ email }) => email))).toEqual(new Set([EMAIL]));
  });

  test('with knowledge is not shown for one question what was found for another; one without does not look', async () => {
    const { name } = await chat.newSession({ agi_id: 'reader' });
    const answer = await chat.ask(name, 'reset');
    await chat.putAgent('reader', { ...READER, knowledge: 'none' });
    await chat.ask(name, 'zebra');
    expect(chat.model.calls.at(-1)?.messages.map(({ content }) => content)).toEqual([
      'Read.',
      'reset',
      answer.answer,
      'zebra',
    ]);
    await chat.putAgent('reader', READER);
    const before = asked.length;
    const plain = await chat.newSession({ agi_id: 'other' });
    expect((await chat.ask(plain.name, 'reset the pump [1]')).citations).toEqual([]);
    expect(asked.length).toBe(before);
  });

  test('is asked on: what the earlier questions were about is looked for, but not what was answered', async () => {
    const { name } = await chat.newSession({ agi_id: 'reader' });
    for (const text of ['zebra', 'When is it open?', 'and on Sundays?', 'thanks']) await chat.ask(name, text);
    answering.queries.splice(0);
    const answer = await chat.ask(name, 'and in winter [1] [2]?');
    expect(answering.queries).toEqual([
      'When is it open?\nand on Sundays?\nthanks\nand in winter [1] [2]?',
      'and in winter [1] [2]?',
    ]);
    expect(answer.citations.map((citation) => citation.name)).toContain('hours.pdf');
  });

  test('answers without citations where the search fails', async () => {
    const { name } = await chat.newSession({ agi_id: 'reader' });
    const { answer, citations } = await chat.ask(name, 'broken [1]');
    expect([answer.endsWith('broken [1]'), citations]).toEqual([true, []]);
  });

  test('cites the same, whole, streamed and sent again', async () => {
    const { name } = await chat.newSession({ agi_id: 'reader' });
    const streamed = await chat.send(name, 'open in winter [2]', { id: 'u-1', stream: true });
    const events = eventsOf(streamed.text);
    const end = events.at(-1) as unknown as AnswerBody;
    expect(
      events
        .filter(({ type }) => type === 'delta')
        .map(({ text }) => text)
        .join(''),
    ).toBe(end.answer);
    expect(events.find(({ type }) => type === 'citations')?.['citations']).toEqual([HOURS]);
    expect(end.citations).toEqual([HOURS] as never);
    expect((await chat.ask(name, 'open in winter [2]', { id: 'u-1' })).citations).toEqual([HOURS]);
    const other = await setting.start();
    expect((await other.ask(name, 'open in winter [2]', { id: 'u-1' })).citations).toEqual([HOURS]);
  });
});

describe('an agent that answers from documents alone', () => {
  const ONLY = { ...READER, knowledge_only: true };

  test('asks no model where nothing is found, and says so in its words', async () => {
    await chat.putAgent('only', ONLY);
    const { name, chat_session_id } = await chat.newSession({ agi_id: 'only' });
    const calls = chat.model.calls.length;
    const answer = await chat.ask(name, 'zebra');
    expect(answer).toMatchObject({
      answer: "I can't find this in the documents.",
      citations: [],
      model: null,
      finish_reason: 'stop',
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    });
    await chat.putAgent('only', { ...ONLY, not_found_text: 'Das steht in keinem Dokument.' });
    const events = eventsOf((await chat.send(name, 'quagga', { stream: true })).text);
    expect(events.map(({ type }) => type)).toEqual(['start', 'delta', 'citations', 'end']);
    expect(events[1]?.['text']).toBe('Das steht in keinem Dokument.');
    expect(chat.model.calls.length).toBe(calls);
    expect((await chat.transcript(chat_session_id)).length).toBe(4);
    await chat.ask(name, 'open?');
    expect(chat.model.calls.at(-1)?.messages[0]?.content).toContain('from these documents alone');
  });

  test('does not say that nothing is there where the search failed: it says so, and the question can be asked again', async () => {
    await chat.putAgent('only', ONLY);
    const { name } = await chat.newSession({ agi_id: 'only' });
    const refused = await chat.send(name, 'broken', { id: 'u-1' });
    expect([refused.status, refused.text]).toEqual([503, '{"detail":"The documents cannot be searched"}']);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    expect((await chat.send(name, 'broken', { id: 'u-1' })).status).toBe(503);
  });
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
  for (const text of ['how to write [1]', 'reset the pump [1] [2] [3]']) await owner.ask(name, text);
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
