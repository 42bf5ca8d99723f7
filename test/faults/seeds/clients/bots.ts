// A chat platform that sends the messages of one space to a bot, signed, again where it got no answer, and sometimes twice at
// once. In the end each message is one question, one answer and one set of events; what is not signed does nothing.

import {
  createBotClient,
  createSigner,
  messageEvent,
  PROJECT,
  type Reply,
  type Signer,
} from '../../../acceptance/support/bots.ts';
import { expectStatus } from '../../../acceptance/support/caller.ts';
import { createChatClient, type SessionRow } from '../../../support/chat-client.ts';
import type { Client, Desk } from '../client.ts';
import { checkConversation, patiently } from './conversation.ts';

/** Of replies that a later attempt replaces: the model failed, or takes too long. */
const APOLOGY = /^(Sorry, |I am still thinking)/;
/** Longer ago than the service's clock may be behind. */
const ISSUED_SECONDS_AGO = 300;

/** Making a pair takes a moment, and all seeds of a run can share them. */
let signers: Promise<{ platform: Signer; stranger: Signer }> | undefined;
const makeSigners = async () => ({
  platform: await createSigner('platform'),
  stranger: await createSigner('platform'),
});

export async function createBotsClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, adminKey } = desk;
  signers ??= makeSigners();
  const { platform, stranger } = await signers;
  const bot = createBotClient({ call, workspace, adminKey }, `bot-${random.below(1e9)}`);
  const jwks = { keys: [platform.jwk] };
  expectStatus(await bot.put({ verification: { mode: 'project_number', audience: PROJECT, jwks } }), 200);
  const chat = createChatClient(call, { workspace, key: adminKey });
  const space = { name: `spaces/${random.below(1e9)}`, type: 'DM', singleUserBotDm: true };
  const answers = new Map<string, Set<string>>();
  let current: string | undefined;

  const eventOf = (text: string): object =>
    messageEvent(text, { name: `${space.name}/messages/${text.replaceAll(' ', '-')}`, space }, { space });
  const now = (): number => Math.floor(Date.now() / 1000);
  const tokenOf = (signer: Signer): Promise<string> => signer.token({ iat: now() - ISSUED_SECONDS_AGO });
  /** True once the message is answered. */
  const send = async (text: string): Promise<boolean> => {
    const token = await tokenOf(platform);
    const answer = await desk.attempt([200], () => bot.send(eventOf(text), `Bearer ${token}`));
    if (answer === undefined) return false;
    const reply = (JSON.parse(answer.text) as Reply).text ?? '';
    if (APOLOGY.test(reply)) return false;
    answers.get(text)?.add(reply);
    return true;
  };
  const advance = async (): Promise<void> => {
    const text = current ?? `message ${answers.size}`;
    current = text;
    if (!answers.has(text)) answers.set(text, new Set());
    const answered = await Promise.all(random.chance(0.3) ? [send(text), send(text)] : [send(text)]);
    if (answered.every(Boolean)) current = undefined;
  };
  const forge = async (): Promise<void> => {
    const expired = platform.token({ iat: now() - 7200, exp: now() - 3600 });
    const forged = random.pick([tokenOf(stranger), expired, 'unsigned']);
    const token = `Bearer ${await forged}`;
    await desk.attempt([401], () => bot.send(eventOf('forged'), token));
  };
  const findSession = async (): Promise<SessionRow | undefined> => {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer = await chat.sessions({ limit: 100, cursor });
      expectStatus(answer, 200);
      const page = JSON.parse(answer.text) as { items: SessionRow[]; next_cursor: string | null };
      const found = page.items.find(({ channel_id: id }) => id === bot.id);
      if (found !== undefined) return found;
      cursor = page.next_cursor;
    }
    return undefined;
  };

  return {
    async work() {
      while (!desk.isOver()) {
        await (random.chance(0.2) ? forge() : advance());
        await desk.pause();
      }
    },
    async settle() {
      const isAnswered = await patiently(() => current === undefined, advance);
      if (!isAnswered) desk.violate('an event is answered in the end', `${current}`);
    },
    keep() {
      const kept = { current, answers: [...answers].map(([text, given]) => [text, new Set(given)] as const) };
      return () => {
        current = kept.current;
        answers.clear();
        for (const [text, given] of kept.answers) answers.set(text, given);
      };
    },
    async check({ events }) {
      if (answers.size === 0) return [];
      const session = await findSession();
      if (session === undefined) return ['a message to a bot begins a conversation: there is none'];
      return checkConversation({
        chatSessionId: session.chat_session_id,
        rows: await chat.transcript(session.chat_session_id),
        answers,
        answerOf: (_question, answer) => answer?.message ?? '',
        events,
      });
    },
  };
}
