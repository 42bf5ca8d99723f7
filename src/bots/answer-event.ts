// An event of the chat app → the message of the bot.

import type { BotTurn, Converse } from '../chat/converse.ts';
import type { Clock } from '../core/clock.ts';
import { toEmailKey } from '../core/email.ts';
import { ServiceError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Principal } from '../core/principal.ts';
import { within } from '../core/wait.ts';
import { isUnavailable } from '../infra/postgres/client.ts';
import type { Bot } from './bots.ts';
import { toEventKey, toMessageKey, toReplayKey, toSessionKey } from './event-keys.ts';
import type { ChatappEvent, EventAnswer } from './event-schema.ts';
import { type Message, parseEvent, renderAnswer, renderMessage } from './events.ts';
import { type PlannedTurn, planAnswer } from './plan.ts';
import type { ReplyStore } from './replies.ts';

const CHANNEL = { channel: 'google_chat', channelPlugin: 'chatapp' };
const PARAGRAPH = '\n\n';

const THINKING = 'I am still thinking about this. Please ask me again in a moment.';
const BUSY = 'Sorry, I am still busy with what you wrote before. Please try again in a moment.';
const FAILED = 'Sorry, I cannot answer at the moment. Please try again later.';

/** The key that an event came with, instead of a token of the platform. */
type Key = NonNullable<BotTurn['key']> & Pick<Principal, 'userId'>;

/** The paragraphs of the message; `complete` is false with an apology or a notice, which another attempt may replace. */
type Outcome = { answers: readonly string[]; complete: boolean; error?: unknown };

type Conversation = {
  turn: Omit<BotTurn, 'channelMessageId' | 'requestKey'>;
  turns: readonly PlannedTurn[];
  eventKey: string;
  replayKey: string;
};

export type AnswerEventDeps = {
  converse: Converse;
  replies: ReplyStore;
  answerTimeoutMs: number;
  clock: Clock;
  log: Logger;
};

export type EventAnswerer = ReturnType<typeof createEventAnswerer>;

export function createEventAnswerer({ converse, replies, answerTimeoutMs, clock, log }: AnswerEventDeps) {
  /** Puts the messages into the session one after the other, each after the answer of the one before. */
  const takeTurns = async (
    { turn, turns, eventKey, replayKey }: Conversation,
    answers: string[],
    signal: AbortSignal,
  ): Promise<void> => {
    for (const [index, planned] of turns.entries()) {
      signal.throwIfAborted();
      const after = turns.length - 1 - index;
      const keys = {
        channelMessageId: toMessageKey(eventKey, after),
        requestKey: toMessageKey(replayKey, after),
      };
      const said = { ...turn, ...keys };
      const answer =
        planned.kind === 'reply'
          ? await converse.reply({ ...said, message: planned.message, reply: planned.reply })
          : await converse.ask({ ...said, message: planned.message, agentId: planned.agentId, signal });
      if (answer !== '') answers.push(answer);
    }
  };

  /** Throws during an outage of the database: the platform then repeats the event. */
  const converseInTime = async (conversation: Conversation): Promise<Outcome> => {
    const answers: string[] = [];
    const leaving = new AbortController();
    const late = (): Outcome => ({ answers: [...answers, THINKING], complete: false });
    const taking = takeTurns(conversation, answers, leaving.signal).then(
      () => ({ answers, complete: true }),
      (error: unknown) => ({ answers: [...answers, apologyFor(error)], complete: false, error }),
    );
    try {
      return await within(taking, answerTimeoutMs, late);
    } finally {
      leaving.abort();
    }
  };

  /**
   * Answers within the time-out, also if the model fails. A repeated event gets the same answer: the conversation answers a message once, also
   * for concurrent deliveries, and the first stored answer is returned to all of them. An apology, and the notice that the answer takes
   * longer, are not stored, so that a repeated event makes another attempt.
   */
  const answer = async (
    bot: Bot,
    event: ChatappEvent,
    key?: Key,
  ): Promise<{ message: Message; replayed: boolean }> => {
    const fresh = (text: string) => ({ message: renderMessage(event, text), replayed: false });
    // 1. Most events of a space need no answer.
    const plan = planAnswer(bot, event);
    if (plan.kind === 'nothing') return fresh('');
    if (plan.kind === 'notice') return fresh(plan.text);
    // 2. A repeated event gets its stored answer.
    const replayKey = toReplayKey(event, key?.userId);
    const stored = await replies.find(bot, replayKey);
    if (stored !== undefined) return { message: stored, replayed: true };
    // 3. The conversation answers, and stores message and answer. If this process dies, the platform repeats the event.
    const turn = {
      ...CHANNEL,
      workspaceId: bot.workspaceId,
      channelId: bot.id,
      channelSessionId: toSessionKey(event, key?.userId),
      user: toEmailKey(event.user.email ?? event.message?.sender?.email ?? ''),
      ...(key === undefined ? {} : { key }),
    };
    const outcome = await converseInTime({ turn, turns: plan.turns, eventKey: toEventKey(event), replayKey });
    if (outcome.error !== undefined)
      log.warn({ bot: bot.id, workspace: bot.workspaceId, err: outcome.error }, 'a bot could not answer');
    const text = outcome.answers.join(PARAGRAPH);
    if (!outcome.complete) return fresh(text);
    // 4. The message is stored before it is sent. A crash in between loses nothing, because the conversation has the answer.
    return replies.keep(bot, { replayKey, message: renderMessage(event, text), at: clock.now() });
  };

  return {
    answer,
    /** Answers the body of an event in the format that it has. Throws ValidationFailure, and as `answer` does. */
    async answerBody(
      bot: Bot,
      body: unknown,
      caller: Principal,
    ): Promise<{ body: EventAnswer; replayed: boolean }> {
      const { event, format } = parseEvent(body);
      const { message, replayed } = await answer(bot, event, caller.keyId === PLATFORM ? undefined : caller);
      return { body: renderAnswer(message, format), replayed };
    },
  };
}

/** Throws errors that need another status: an outage of the database, or a key that may not use the agent. */
function apologyFor(error: unknown): string {
  if (error instanceof ServiceError && error.kind === 'forbidden') throw error;
  if (error instanceof ServiceError && !isUnavailable(error.cause))
    return error.kind === 'too-many-requests' ? BUSY : FAILED;
  if (error instanceof ValidationFailure) return FAILED;
  throw error;
}

const PLATFORM = 'chatapp';

/** The chat app itself, which acts for the person that an event names. */
export const platformOf = ({ workspaceId }: Bot): Principal => ({
  keyId: PLATFORM,
  workspaceId,
  userId: 'chatapp',
  email: '',
  scopes: new Set(['bots']),
  limits: {},
});
