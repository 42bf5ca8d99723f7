// The interface of the chat area for bots: turns of a conversation, stored and counted like those of any channel.

import type { WakeEventMover } from '../core/event.ts';
import type { Principal } from '../core/principal.ts';
import { abortable } from '../core/wait.ts';
import { type AcceptQuestion, answerInTime, assertMessageSize, toCaller } from './accept.ts';
import { withSources } from './citing/sources.ts';
import type { MessageStore } from './store/messages.ts';
import type { SessionStore } from './store/sessions.ts';
import type { Citation, Reach, SessionKeys, TurnCaller } from './turn.ts';

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
  /** Unique within the session, as `channelMessageId` is where it is absent: the same again gives the stored answer. */
  requestKey?: string;
};

export type Converse = {
  /**
   * The agent's answer to a message, with its sources. Aborting the wait (`signal`) does not abort the answer: it is stored, and a
   * repeated request of the same turn returns it. Throws the errors of `StreamChat`; then a repeated request makes a new attempt.
   */
  ask(
    turn: BotTurn & { message: string; agentId?: string | null; signal: AbortSignal },
  ): Promise<{ answer: string }>;
  /**
   * A turn whose answer stands before: a slash command's reply, a welcome (then there is no message). Stored with the
   * event `messages.rag.bot.new`, and, where there is a message, `messages.user.new`.
   */
  reply(turn: BotTurn & { message: string | null; reply: string }): Promise<{ answer: string }>;
};

/** The documents among these that the person may see; deleted ones are not among them. */
export type VisibleToPerson = (
  person: { workspaceId: string; email: string },
  ids: readonly string[],
) => Promise<ReadonlySet<string>>;

export function createConverse({
  accept,
  sessions,
  messages,
  visibleToPerson,
  wakeMover,
}: {
  accept: AcceptQuestion;
  sessions: Pick<SessionStore, 'open'>;
  messages: Pick<MessageStore, 'addReply'>;
  visibleToPerson: VisibleToPerson;
  wakeMover: WakeEventMover;
}): Converse {
  /** Runs it; makes the session and runs it again where that is absent. */
  const inSession = async <T>(
    turn: BotTurn,
    run: () => Promise<T | 'no session' | undefined>,
  ): Promise<T> => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const result = await run();
      if (result !== 'no session' && result !== undefined) return result;
      // Each question says who answers it: the first one's agent is not the conversation's.
      const session = { ...turn, personaId: 0, agiId: '', person: personOf(turn), readsAs: turn.key?.email };
      await sessions.open(session, { reach: BOTS, rebinds: false });
    }
    throw new Error('a session is deleted whenever it is made');
  };

  const shownTo = async (
    { readsAs }: TurnCaller,
    { workspaceId }: BotTurn,
    citations: readonly Citation[],
  ): Promise<Citation[]> => {
    if (readsAs === null || citations.length === 0) return [];
    const ids = [...new Set(citations.map(({ document_id }) => document_id))];
    const visible = await visibleToPerson({ workspaceId, email: readsAs }, ids);
    return citations.filter(({ document_id }) => visible.has(document_id));
  };

  return {
    async ask({ message, agentId = null, signal, ...turn }) {
      const { answerStream } = await inSession(turn, () =>
        accept({
          workspaceId: turn.workspaceId,
          place: { session: turn, channelMessageId: turn.channelMessageId, requestKey: keyOf(turn) },
          reach: BOTS,
          message,
          channelAnswerId: null,
          agentId,
          caller: callerOf(turn),
        }),
      );
      const answered = await abortable(answerInTime(answerStream.outcome), signal);
      return {
        answer: withSources(answered.message, await shownTo(callerOf(turn), turn, answered.citations)),
      };
    },

    async reply({ message, reply, ...turn }) {
      if (message !== null) assertMessageSize(message);
      const { answer } = await inSession(turn, () =>
        messages.addReply({
          session: turn,
          channelMessageId: turn.channelMessageId,
          requestKey: keyOf(turn),
          message,
          reply,
          subject: personOf(turn),
        }),
      );
      wakeMover();
      return { answer };
    },
  };
}

const keyOf = ({ requestKey, channelMessageId }: BotTurn): string => requestKey ?? channelMessageId;

/** Events name the person, else the owner of the key. */
const personOf = ({ user, key }: Pick<BotTurn, 'user' | 'key'>): string =>
  user === '' ? (key?.email ?? '') : user;

/** A key authenticates its owner, not the person that an event names. */
const callerOf = (turn: Pick<BotTurn, 'user' | 'key'>): TurnCaller =>
  turn.key === undefined
    ? { email: turn.user, readsAs: turn.user }
    : { ...toCaller(turn.key), email: personOf(turn) };
