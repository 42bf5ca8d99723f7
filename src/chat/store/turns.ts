import { isAdmin } from '../../core/principal.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import { PENDING_MAX } from '../limits.ts';
import type { Answer, AnsweredTurn, Failure, Reach, Said, SessionKeys, Turn, TurnCaller } from '../turn.ts';

/** A question as it comes: a message of a channel, or one in place of another, whose ids it takes. */
export type Question = {
  workspaceId: string;
  /** The message is known by `requestKey`, else by the channel's identifier. */
  place: { session: SessionKeys; channelMessageId: string; requestKey?: string } | { replaces: number };
  reach: Reach;
  message: string;
  channelAnswerId: string | null;
  /** Null in place of another question: then its agent answers, where that was asked for. */
  agentId: string | null;
  caller: TurnCaller;
};

type TurnIds = Pick<Turn, 'sessionId' | 'userMessageId' | 'answerId'>;

export type Acceptance =
  | { outcome: 'accepted'; turn: Turn; isFirst: boolean }
  | ({ outcome: 'done' | 'in flight' } & TurnIds)
  | { outcome: 'no session' | 'no message' | 'deleted' | 'other text' | 'no documents' | 'full' };

type Attempt = Pick<Turn, 'answerId' | 'attempt'>;

export type AnswerState =
  | { state: 'pending' }
  | { state: 'done'; answered: AnsweredTurn }
  | { state: 'failed'; failure: Failure };

export type Finished =
  | {
      outcome: 'stored';
      /** The answer that is now first in the queue, and the version of the session's deletions. */
      nextId: number | null;
      historyVersion: number;
      createdAt: Date;
    }
  | { outcome: 'superseded' }
  | { outcome: 'gone' };

export type TurnStore = ReturnType<typeof createTurnStore>;

type Accepted = Omit<Turn, 'workspaceId' | 'message'> & { outcome: Acceptance['outcome']; isFirst: boolean };

/** Questions and answers in their line. `owner` is this process. */
export function createTurnStore(sql: Transaction, owner: string) {
  return {
    async accept(question: Question): Promise<Acceptance> {
      const { workspaceId, place, reach, message, channelAnswerId, agentId, caller } = question;
      const { sessionKey, replaces, requestKey, channelMessageId } =
        'replaces' in place
          ? {
              ...place,
              sessionKey: null,
              requestKey: editKeyOf(place.replaces, message),
              channelMessageId: null,
            }
          : {
              sessionKey: sessionKeyOf(place.session),
              replaces: null,
              requestKey: requestKeyOf(place.requestKey ?? place.channelMessageId),
              channelMessageId: place.channelMessageId,
            };
      const [row] = await sql<Accepted[]>`
        SELECT outcome, session_id AS "sessionId", channel_session_id AS "channelSessionId",
          persona_id AS "personaId", agi_id AS "agiId", history_version AS "historyVersion", parent_id AS "parentId",
          user_message_id AS "userMessageId",
          answer_id AS "answerId", channel_message_id AS "channelMessageId", channel_answer_id AS "channelAnswerId",
          attempt, is_first AS "isFirst", agent_id AS "agentId", caller
        FROM chat_accept(${workspaceId}, ${sessionKey}, ${reach.userId}, ${isAdmin(reach)}, ${replaces}, ${requestKey},
          ${message}, ${channelMessageId}, ${channelAnswerId}, ${agentId}, ${owner}, ${JSON.stringify(caller)}::text::json, ${PENDING_MAX})`;
      if (row === undefined) throw new Error('a question was neither taken nor refused');
      const { outcome, isFirst, ...turn } = row;
      if (outcome === 'accepted') return { outcome, turn: { ...turn, workspaceId, message }, isFirst };
      return outcome === 'done' || outcome === 'in flight' ? { outcome, ...turn } : { outcome };
    },

    async finish(turn: Turn, result: { answer: Answer } | { failure: Failure }): Promise<Finished> {
      const answer = 'answer' in result ? result.answer : undefined;
      const failure = 'failure' in result ? result.failure : undefined;
      const [row] = await sql<
        { outcome: Finished['outcome']; nextId: number | null; historyVersion: number; createdAt: Date }[]
      >`
        SELECT outcome, next_id AS "nextId", history_version AS "historyVersion", created_at AS "createdAt"
        FROM chat_finish(${turn.sessionId}, ${turn.answerId}, ${owner}, ${turn.attempt}, ${turn.caller.email},
          ${answer === undefined ? 'failed' : 'done'}, ${answer?.message ?? ''},
          ${answer === undefined ? null : JSON.stringify(answer.citations)}::text::json, ${answer?.agentId ?? null},
          ${answer === undefined ? null : `messages.rag.${answer.kind}.new`}, ${answer?.model ?? null},
          ${answer?.finishReason ?? null}, ${answer?.promptTokens ?? null}, ${answer?.completionTokens ?? null},
          ${failure?.sentence ?? null}, ${failure?.kind ?? null}, ${failure?.retryAfterSeconds ?? null})`;
      if (row === undefined) throw new Error('an answer was neither stored nor refused');
      const { outcome, ...stored } = row;
      return outcome === 'stored' ? { outcome, ...stored } : { outcome };
    },

    /** Undefined where there is no such answer any more. */
    async answer(answerId: number): Promise<AnswerState | undefined> {
      const [row] = await sql<(AnsweredTurn & { state: AnswerState['state'] } & Failure)[]>`
        SELECT s.id AS "sessionId", s.channel_session_id AS "channelSessionId", a.parent_id AS "userMessageId",
          a.id AS "answerId", q.channel_message_id AS "channelMessageId", a.channel_message_id AS "channelAnswerId",
          a.message, coalesce(a.citations, '[]') AS citations, a.model, a.finish_reason AS "finishReason",
          a.prompt_tokens AS "promptTokens", a.completion_tokens AS "completionTokens", a.created_at AS "createdAt",
          a.state, a.error_msg AS sentence, a.error_kind AS kind, a.retry_after AS "retryAfterSeconds"
        FROM chat_messages a JOIN chat_messages q ON q.id = a.parent_id JOIN chat_sessions s ON s.id = a.session_id
        WHERE a.id = ${answerId} AND a.state IS NOT NULL`;
      if (row === undefined) return undefined;
      const { state, sentence, kind, retryAfterSeconds, ...answered } = row;
      if (state === 'pending') return { state };
      if (state === 'done') return { state, answered };
      return { state, failure: { sentence, kind, retryAfterSeconds: retryAfterSeconds ?? undefined } };
    },

    /**
     * Those of the attempts that are not this process's any more or were stopped, and those of the followed answers that are
     * not pending. `isGone`: with their session.
     */
    over(
      attempts: readonly Attempt[],
      followed: readonly number[],
    ): Promise<{ answerId: number; isGone: boolean; isStopped: boolean }[]> {
      const ids = [...attempts.map(({ answerId }) => answerId), ...followed];
      const numbers = [...attempts.map(({ attempt }) => attempt), ...followed.map(() => null)];
      return sql`
        SELECT watched.id AS "answerId", m.id IS NULL AS "isGone", coalesce(
          m.state = 'pending' AND m.owner = ${owner} AND m.attempts = watched.attempt, false) AS "isStopped"
        FROM unnest(${ids}::bigint[], ${numbers}::integer[]) AS watched (id, attempt)
        LEFT JOIN chat_messages m ON m.id = watched.id
        WHERE m.state IS DISTINCT FROM 'pending'
          OR (watched.attempt IS NOT NULL
            AND (m.owner <> ${owner} OR m.attempts <> watched.attempt OR m.caller ->> 'stopped' = 'true'))`;
    },

    /**
     * The earlier messages in order: the end of the branch, limited by messages and bytes. It is read by the order of the
     * session, which is that of its branch but where a question was replaced: from there on it is read by the parents.
     */
    async history(
      parentId: number,
      { messagesMax, bytesMax }: { messagesMax: number; bytesMax: number },
    ): Promise<Said[]> {
      const branch: Said[] = [];
      let next: number | null = parentId;
      let messagesLeft = messagesMax;
      let bytesLeft = bytesMax;
      for (const read of [readSession, readBranch]) {
        if (next === null || messagesLeft <= 0 || bytesLeft <= 0) break;
        for (const { id, role, message, bytes, ...row } of await read(sql, next, {
          messagesLeft,
          bytesLeft,
        })) {
          if (id !== next) continue;
          messagesLeft -= 1;
          bytesLeft -= bytes;
          if (bytesLeft < 0) break;
          if (message !== '') branch.push({ role, message });
          next = row.parentId;
        }
      }
      return branch.reverse();
    },
  };
}

/** Stands for the five keys of a session. */
export const sessionKeyOf = (keys: SessionKeys): string =>
  digest([keys.workspaceId, keys.channel, keys.channelPlugin, keys.channelId, keys.channelSessionId]);

/** Stands for a message of the channel, within its session. */
export const requestKeyOf = (channelMessageId: string): string => digest(['message', channelMessageId]);

/** Stands for the change of a message to a text: the same change again is the same message. */
const editKeyOf = (messageId: number, text: string): string => digest(['edit', `${messageId}`, text]);

/** The texts may be too long for an index: this is 128 bits of their SHA-256, as a uuid. */
function digest(parts: readonly string[]): string {
  const hex = new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

type BranchRow = Said & { id: number; parentId: number | null; bytes: number };
type Left = { messagesLeft: number; bytesLeft: number };

/** The messages of the session up to this one, the latest first, including replaced ones. */
const readSession = (
  sql: Transaction,
  lastId: number,
  { messagesLeft, bytesLeft }: Left,
): Promise<BranchRow[]> =>
  sql`
    SELECT id, parent_id AS "parentId", role, message, bytes FROM (
      SELECT *, sum(bytes) OVER (ORDER BY id DESC) - bytes AS bytes_after FROM (
        SELECT id, parent_id, role, message, octet_length(message) AS bytes FROM chat_messages
        WHERE session_id = (SELECT session_id FROM chat_messages WHERE id = ${lastId}) AND id <= ${lastId}
        ORDER BY id DESC LIMIT ${messagesLeft}) recent) sized
    WHERE bytes_after < ${bytesLeft} ORDER BY id DESC`;

/** This message and those before it in its branch, the latest first: an access of the index for each. */
const readBranch = (
  sql: Transaction,
  lastId: number,
  { messagesLeft, bytesLeft }: Left,
): Promise<BranchRow[]> =>
  sql`
    WITH RECURSIVE branch AS (
      SELECT id, parent_id, role, message, octet_length(message) AS bytes, 0::bigint AS bytes_after, 1 AS depth
      FROM chat_messages WHERE id = ${lastId}
      UNION ALL
      SELECT m.id, m.parent_id, m.role, m.message, octet_length(m.message), b.bytes_after + b.bytes, b.depth + 1
      FROM branch b JOIN chat_messages m ON m.id = b.parent_id
      WHERE b.depth < ${messagesLeft} AND b.bytes_after + b.bytes < ${bytesLeft})
    SELECT id, parent_id AS "parentId", role, message, bytes FROM branch ORDER BY depth`;
