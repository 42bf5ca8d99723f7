// Turns of conversations that bots bring: the same line, the same memory, the same events.

import type { WakeEventMover } from '../core/event.ts';
import { abortable } from '../core/wait.ts';
import { type AcceptQuestion, answerInTime, assertMessageSize } from './accept.ts';
import type { Turn as BotTurn, Converse } from './converse.ts';
import { requestKeyOf, sessionKeyOf } from './session-key.ts';
import type { MessageStore } from './store/messages.ts';
import type { SessionStore } from './store/sessions.ts';
import type { TurnCaller } from './turn.ts';
import { BOTS, toCaller } from './turn.ts';

export function createConverse({
  take,
  sessions,
  messages,
  wakeMover,
}: {
  take: AcceptQuestion;
  sessions: Pick<SessionStore, 'open'>;
  messages: Pick<MessageStore, 'addReply'>;
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
      const session = { ...turn, personaId: 0, agiId: '', person: personOf(turn) };
      await sessions.open(session, { reach: BOTS, rebinds: false });
    }
    throw new Error('a session is deleted whenever it is made');
  };

  return {
    async ask({ message, agentId, signal, ...turn }) {
      const { answerStream } = await inSession(turn, () =>
        take({
          workspaceId: turn.workspaceId,
          place: { sessionKey: sessionKeyOf(turn) },
          reach: BOTS,
          requestKey: requestKeyOf(turn.channelMessageId),
          message,
          channelMessageId: turn.channelMessageId,
          channelAnswerId: null,
          agentId: agentId ?? null,
          caller: callerOf(turn),
        }),
      );
      const { message: answer } = await abortable(answerInTime(answerStream), signal);
      return { answer };
    },

    async reply({ message, reply, ...turn }) {
      if (message !== null) assertMessageSize(message);
      const { answer } = await inSession(turn, () =>
        messages.addReply({
          workspaceId: turn.workspaceId,
          sessionKey: sessionKeyOf(turn),
          requestKey: requestKeyOf(turn.channelMessageId),
          channelMessageId: turn.channelMessageId,
          ...{ message, reply, subject: personOf(turn) },
        }),
      );
      wakeMover();
      return { answer };
    },
  };
}

/** Whom events name: the person, else the key's owner. */
const personOf = ({ user, key }: Pick<BotTurn, 'user' | 'key'>): string =>
  user === '' ? (key?.email ?? '') : user;

/** A key authenticates its owner, not the person that an event names. */
const callerOf = (turn: Pick<BotTurn, 'user' | 'key'>): TurnCaller =>
  turn.key === undefined
    ? { email: turn.user, readsAs: turn.user }
    : { ...toCaller(turn.key), email: personOf(turn) };
