// The interface of the chat area for bots: turns of a conversation, stored and counted like those of any channel.

import type { WakeEventMover } from '../core/event.ts';
import type { Principal } from '../core/principal.ts';
import { abortable } from '../core/wait.ts';
import { answerInTime } from './answer-stream.ts';
import type { Answers } from './answers.ts';
import { withSources } from './citations.ts';
import type { MessageStore } from './messages.ts';
import type { SessionStore } from './sessions.ts';
import type { Reach, SessionKeys, TurnCaller } from './turn.ts';
import { assertMessageSize, toCaller } from './turns.ts';

/** Reaches the conversations of bots, which have no owner: no key reaches them but an administrator's. */
const BOTS: Reach = { userId: '', scopes: new Set() };

/** The session is made when it is absent. */
export type BotTurn = SessionKeys & {
  /** The person's e-mail, lower-cased; `''` where it is unknown. */
  user: string;
  /** The key of the request, if there is one: its limits count, and documents of its owner can be cited. */
  key?: Pick<Principal, 'keyId' | 'email' | 'limits' | 'scopes'>;
  /** Of the person's message. */
  channelMessageId: string;
  /** The idempotency key of the turn within its session. */
  requestKey: string;
};

/** The documents among these that the person may see; deleted ones are not among them. */
export type VisibleToPerson = (
  person: { workspaceId: string; email: string },
  ids: readonly string[],
) => Promise<ReadonlySet<string>>;

export type Converse = ReturnType<typeof createConverse>;

export function createConverse(
  { sessions, messages, answers }: { sessions: SessionStore; messages: MessageStore; answers: Answers },
  visibleToPerson: VisibleToPerson,
  wakeMover: WakeEventMover,
) {
  /** Each question says who answers it: the first one's agent is not the conversation's. */
  const openSession = (turn: BotTurn) => {
    const session = { ...turn, personaId: 0, agiId: '', person: personOf(turn), readsAs: turn.key?.email };
    return sessions.open(session, { reach: BOTS, rebinds: false });
  };

  return {
    /**
     * The agent's answer to a message, with its sources. Aborting the wait (`signal`) does not abort the answer: it is stored, and a
     * repeated request of the same turn returns it. Throws the errors of `StreamChat`; then a repeated request makes a new attempt.
     */
    async ask({
      message,
      agentId,
      signal,
      ...turn
    }: BotTurn & { message: string; agentId: string | null; signal: AbortSignal }): Promise<string> {
      const { workspaceId, channelMessageId, requestKey } = turn;
      const caller = callerOf(turn);
      await openSession(turn);
      const { stream } = await answers.ask({
        workspaceId,
        place: { session: turn, channelMessageId, requestKey },
        reach: BOTS,
        message,
        channelAnswerId: null,
        agentId,
        caller,
      });
      const { message: answer, citations } = await abortable(answerInTime(stream), signal);
      const cited = [...new Set(citations.map(({ document_id }) => document_id))];
      const visible =
        caller.readsAs === null || cited.length === 0
          ? new Set<string>()
          : await visibleToPerson({ workspaceId, email: caller.readsAs }, cited);
      return withSources(
        answer,
        citations.filter(({ document_id }) => visible.has(document_id)),
      );
    },

    /**
     * A turn with a fixed answer: a slash command's reply, or a welcome, which has no message. Stored with the event
     * `messages.rag.bot.new`, and, where there is a message, `messages.user.new`; the same turn again gives the stored answer.
     */
    async reply({
      message,
      reply,
      ...turn
    }: BotTurn & { message: string | null; reply: string }): Promise<string> {
      if (message !== null) assertMessageSize(message);
      await openSession(turn);
      const { channelMessageId, requestKey } = turn;
      const subject = personOf(turn);
      const stored = { session: turn, reach: BOTS, channelMessageId, requestKey, message, reply, subject };
      const answer = await messages.addReply(stored);
      wakeMover();
      return answer;
    },
  };
}

/** Events name the person, else the owner of the key. */
const personOf = ({ user, key }: Pick<BotTurn, 'user' | 'key'>): string =>
  user === '' ? (key?.email ?? '') : user;

/** A key authenticates its owner, not the person that an event names. */
const callerOf = (turn: Pick<BotTurn, 'user' | 'key'>): TurnCaller =>
  turn.key === undefined
    ? { email: turn.user, readsAs: turn.user }
    : { ...toCaller(turn.key), email: personOf(turn) };
