// An event of the chat app → the message of the bot.

import type { BotTurn, Converse } from '../../chat/converse.ts';
import type { Clock } from '../../core/clock.ts';
import { toEmailKey } from '../../core/email.ts';
import { ServiceError, ValidationFailure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Principal } from '../../core/principal.ts';
import { within } from '../../core/wait.ts';
import { isUnavailable } from '../../infra/postgres/client.ts';
import type { Bot } from '../bot.ts';
import { toEventKey, toMessageKey, toReplayKey, toSessionKey } from '../event-keys.ts';
import type { ChatappEvent } from '../event-schema.ts';
import { type Message, renderMessage } from '../message.ts';
import { type PlannedTurn, planAnswer } from '../plan.ts';
import type { ReplyStore } from '../store/replies.ts';

const CHANNEL = 'google_chat';
const PLUGIN = 'chatapp';

const PARAGRAPH = '\n\n';

const THINKING = 'I am still thinking about this. Please ask me again in a moment.';
const BUSY = 'Sorry, I am still busy with what you wrote before. Please try again in a moment.';
const FAILED = 'Sorry, I cannot answer at the moment. Please try again later.';

export type AnswerEventDeps = {
  converse: Converse;
  replies: Pick<ReplyStore, 'find' | 'keep'>;
  answerTimeoutMs: number;
  clock: Clock;
  log: Logger;
};

/** The key that an event came with, instead of a token of the platform. */
type Key = NonNullable<BotTurn['key']> & Pick<Principal, 'userId'>;

export type Answered = { message: Message; replayed: boolean };

/**
 * Answers within the time-out, also if the model fails. A repeated event gets the same answer: the conversation answers a
 * message once, also for concurrent deliveries, and the first stored answer is returned to all of them. An apology, and the
 * notice that the answer takes longer, are not stored, so that a repeated event makes another attempt.
 */
export function createAnswerEvent({ converse, replies, answerTimeoutMs, clock, log }: AnswerEventDeps) {
  return async (bot: Bot, event: ChatappEvent, key?: Key): Promise<Answered> => {
    const fresh = (text: string): Answered => ({ message: renderMessage(event, text), replayed: false });
    // 1. Most events of a space need no answer.
    const plan = planAnswer(bot, event);
    if (plan.kind === 'nothing') return fresh('');
    if (plan.kind === 'notice') return fresh(plan.text);
    // 2. A repeated event gets its stored answer.
    const replayKey = toReplayKey(event, key?.userId);
    const stored = await replies.find(bot, replayKey);
    if (stored !== undefined) return { message: stored, replayed: true };
    // 3. The conversation answers, and stores message and answer. If this process dies, the platform repeats the event.
    const keys = { eventKey: toEventKey(event), replayKey };
    const turn = toTurn(bot, event, key);
    const outcome = await converseInTime(converse, { turn, turns: plan.turns, ...keys, answerTimeoutMs });
    if ('error' in outcome)
      log.warn({ bot: bot.id, workspace: bot.workspaceId, err: outcome.error }, 'a bot could not answer');
    const text = outcome.answers.join(PARAGRAPH);
    if (!outcome.complete) return fresh(text);
    // 4. The message is stored before it is sent. A crash in between loses nothing, because the conversation has the answer.
    const message = renderMessage(event, text);
    return replies.keep(bot, { replayKey, message, at: clock.now() });
  };
}

type TurnOfEvent = Omit<BotTurn, 'channelMessageId' | 'requestKey'>;

function toTurn(bot: Bot, event: ChatappEvent, key: Key | undefined): TurnOfEvent {
  const email = event.user.email ?? event.message?.sender?.email ?? '';
  return {
    workspaceId: bot.workspaceId,
    channel: CHANNEL,
    channelPlugin: PLUGIN,
    channelId: bot.id,
    channelSessionId: toSessionKey(event, key?.userId),
    user: toEmailKey(email),
    ...(key === undefined ? {} : { key }),
  };
}

/** The paragraphs of the message; `complete` is false with an apology or a notice, which another attempt may replace. */
type Outcome = { answers: readonly string[]; complete: boolean; error?: unknown };

type Conversation = {
  turn: TurnOfEvent;
  turns: readonly PlannedTurn[];
  eventKey: string;
  replayKey: string;
};

/** Throws during an outage of the database: the platform then repeats the event. */
async function converseInTime(
  converse: Converse,
  { answerTimeoutMs, ...conversation }: Conversation & { answerTimeoutMs: number },
): Promise<Outcome> {
  const answers: string[] = [];
  const leaving = new AbortController();
  const late = (): Outcome => ({ answers: [...answers, THINKING], complete: false });
  const taking = takeTurns(converse, { ...conversation, answers, signal: leaving.signal }).then(
    () => ({ answers, complete: true }),
    (error: unknown) => ({ answers: [...answers, apologyFor(error)], complete: false, error }),
  );
  try {
    return await within(taking, answerTimeoutMs, late);
  } finally {
    leaving.abort();
  }
}

/** Puts the messages into the session one after the other, each after the answer of the one before. */
async function takeTurns(
  converse: Converse,
  {
    turn,
    turns,
    eventKey,
    replayKey,
    answers,
    signal,
  }: Conversation & { answers: string[]; signal: AbortSignal },
): Promise<void> {
  for (const [index, planned] of turns.entries()) {
    signal.throwIfAborted();
    const after = turns.length - 1 - index;
    const channelMessageId = toMessageKey(eventKey, after);
    const said = { ...turn, channelMessageId, requestKey: toMessageKey(replayKey, after) };
    const answer =
      planned.kind === 'reply'
        ? await converse.reply({ ...said, message: planned.message, reply: planned.reply })
        : await converse.ask({ ...said, message: planned.message, agentId: planned.agentId, signal });
    if (answer !== '') answers.push(answer);
  }
}

/** Throws errors that need another status: an outage of the database, or a key that may not use the agent. */
function apologyFor(error: unknown): string {
  if (error instanceof ServiceError && error.kind === 'forbidden') throw error;
  if (error instanceof ServiceError && !isUnavailable(error.cause))
    return error.kind === 'too-many-requests' ? BUSY : FAILED;
  if (error instanceof ValidationFailure) return FAILED;
  throw error;
}
