// People who work until the power goes, and what was promised to them at any moment.

import { randomBytes } from 'node:crypto';
import { bodyOf, type Caller } from '../../acceptance/support/caller.ts';
import {
  createLibrary,
  type DocumentRecord,
  freshName,
  type Library,
  type List,
} from '../../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../../acceptance/support/metrics.ts';
import { createPeople } from '../../acceptance/support/people.ts';
import { createChatClient } from '../../support/chat-client.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { asksAgain, createPlainCaller } from './caller.ts';
import type { Random } from './random.ts';

const key = BOOTSTRAP_KEY;

export type Promised = {
  /** Ids of usage events. */
  events: string[];
  documents: { id: string }[];
  /** Documents whose purge was asked for, and was answered. */
  purged: string[];
  purgedSurely: string[];
  /** Answers of conversations. */
  answers: { session: number; id: number }[];
  /** Keys that were made; those of them whose revocation was asked for, and was answered. */
  keys: string[];
  revoking: string[];
  revoked: string[];
  /** Calls of models, asked and answered. */
  asked: number;
  called: number;
};

/** Works until it ends. What is not answered is no promise. */
export function createWork(url: string, random: Random) {
  const known: Promised = {
    events: [],
    documents: [],
    purged: [],
    purgedSurely: [],
    answers: [],
    keys: [],
    revoking: [],
    revoked: [],
    asked: 0,
    called: 0,
  };
  const call = asksAgain(countingModels(createPlainCaller(url), known));
  const library = createLibrary(call, { workspace: WORKSPACE, key });
  let ended = false;
  const workers = [
    sendEvents(call, known, random.fork()),
    keepDocuments(library, known, random.fork()),
    converse(call, known),
    askModels(call, known),
    makeKeys(call, known),
  ].map(async (step) => {
    while (!ended) {
      await step().catch((error: unknown) => {
        if (!ended) throw error;
      });
      await Bun.sleep(10);
    }
  });
  const working = Promise.all(workers);
  working.catch(() => undefined);
  const copy = (): Promised => structuredClone(known);
  /** What must survive from now on. */
  const promised = async (): Promise<Promised> => {
    await Promise.race([working, Bun.sleep(0)]);
    return copy();
  };
  return {
    /** What may have taken effect by now, answered or not. */
    known: copy,
    promised,
    /** Whether everybody has been promised something that stays: a document that is purged is none. */
    async isUnderWay(): Promise<boolean> {
      const { events, documents, purged, answers, revoked, called } = await promised();
      const kept = documents.filter(({ id }) => !purged.includes(id));
      return [events, kept, answers, revoked].every(({ length }) => length > 0) && called > 0;
    },
    async end(): Promise<void> {
      ended = true;
      await working;
    },
  };
}

type Step = () => Promise<void>;

/** Each attempt may ask a model, also one that is refused and made again. */
const countingModels =
  (call: Caller, known: Promised): Caller =>
  (method, path, options) => {
    if (/\/(chat\/completions|messages\/send-message\/.*)$/.test(path)) known.asked += 1;
    return call(method, path, options);
  };

function sendEvents(call: Caller, known: Promised, random: Random): Step {
  const metrics = createMetrics(call, { workspace: WORKSPACE, key });
  return async () => {
    const events = Array.from({ length: random.between({ from: 1, to: 20 }) }, () =>
      eventOf({ source: 'power', type: 'a.b' }),
    );
    bodyOf(await metrics.sendAll(events), 202);
    known.events.push(...events.map(({ id }) => String(id)));
  };
}

function keepDocuments(library: Library, known: Promised, random: Random): Step {
  return async () => {
    const content = randomBytes(random.between({ from: 1, to: 60_000 }));
    const { id } = await library.stored({ name: freshName() }, content);
    known.documents.push({ id });
    if (!random.chance(0.3)) return;
    known.purged.push(id);
    for (const answer of [await library.bin(id), await library.purge(id)])
      if (answer.status !== 204) throw new Error(answer.text);
    known.purgedSurely.push(id);
  };
}

function converse(call: Caller, known: Promised): Step {
  const chat = createChatClient(call, { workspace: WORKSPACE, key });
  let session: { name: string; chat_session_id: number } | undefined;
  let questions = 0;
  return async () => {
    if (session === undefined || questions % 5 === 0) session = await chat.newSession();
    questions += 1;
    const { message_id } = await chat.ask(session.name, `question ${questions}`);
    known.answers.push({ session: session.chat_session_id, id: message_id });
    known.called += 1;
  };
}

function askModels(call: Caller, known: Promised): Step {
  return async () => {
    const json = { model: 'local-echo', messages: [{ role: 'user', content: 'a question' }] };
    bodyOf(await call('POST', '/v1/chat/completions', { key, json }), 200);
    known.called += 1;
  };
}

function makeKeys(call: Caller, known: Promised): Step {
  const people = createPeople(call, { workspace: WORKSPACE, adminKey: key });
  return async () => {
    const made = await people.newKey();
    known.keys.push(made.key);
    if (known.keys.length % 2 === 0) return;
    known.revoking.push(made.key);
    const answer = await people.revoke(made.id);
    if (answer.status !== 204) throw new Error(answer.text);
    known.revoked.push(made.key);
  };
}

/** As the sums show it. */
export async function accountedRequests(call: Caller): Promise<number> {
  const answer = await call('GET', `/admin/api/workspaces/${WORKSPACE}/model-usage`, { key });
  const { items } = bodyOf<{ items: { requests: number }[] }>(answer, 200);
  return items.reduce((sum, { requests }) => sum + requests, 0);
}

/** Every record, those in the bin too. */
export async function allDocuments(call: Caller): Promise<DocumentRecord[]> {
  const library = createLibrary(call, { workspace: WORKSPACE, key });
  const records: DocumentRecord[] = [];
  for (let page = 1; ; page++) {
    const answer = await call('GET', `/v1/filter/${WORKSPACE}`, { key, query: { page, size: 100 } });
    const { items } = bodyOf<{ items: DocumentRecord[] }>(answer, 200);
    records.push(...items);
    if (items.length < 100) break;
  }
  const binned = bodyOf<List<DocumentRecord>>(await library.trash(), 200);
  return [...records, ...binned.items];
}
