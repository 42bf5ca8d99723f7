// The states of a turn in the database. Each change is one statement, and so one transaction: an answer is `pending` from the
// acceptance of its question on, then `done` or `failed`; a failed one becomes pending when its question is asked again.
//
// A unique index decides which of equal messages is the first one; the lock of the session's row decides the order of different ones.
// Only the attempt that the row names (`place`, `attempts`) may store an answer, so that a process whose answer was taken over
// changes nothing.

import { forbidden, notFound, tooLarge, tooManyRequests, unavailable, valueError } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import type { Transaction } from '../infra/postgres/client.ts';
import type { Agent, AgentNames } from './agents.ts';
import {
  ALIVE_MS,
  CLAIM_GRACE_MS,
  LOST_MAX,
  MESSAGE_BYTES_MAX,
  PENDING_MAX,
  RETRY_AFTER_SECONDS,
} from './limits.ts';
import { isUniqueViolation, reachedBy, requestKeyOf, sessionKeyOf, sessionNotFound } from './sessions.ts';
import type { Answer, AnsweredTurn, Failure, Question, Turn, TurnCaller } from './turn.ts';

export type Turns = ReturnType<typeof createTurns>;

/** A new turn, or the ids of an earlier one: the answer of another request is that of this one, too. */
export type Acceptance =
  | { turn: Turn; isFirst: boolean }
  | { earlier: Pick<Turn, 'userMessageId' | 'answerId'> };

export type AnswerState =
  | { state: 'pending' }
  | { state: 'done'; answered: AnsweredTurn }
  | { state: 'failed'; failure: Failure };

/** A pending answer whose process is gone (`isGone`), gives no sign of life, or has lost it itself (`isMine`). */
export type LostAnswer = Pick<Turn, 'answerId' | 'place' | 'attempt'> & { isMine: boolean; isGone: boolean };

/** The session of a question, with the earlier turn of the same message, if there is one. */
type Found = Omit<Turn, 'workspaceId' | 'message' | 'caller' | 'userMessageId' | 'answerId'> & {
  pending: number;
  userId: string;
  /** Whose documents the questions of an administrator read here. */
  readsAs: string;
  userMessageId: number | null;
  text: string;
  isDeleted: boolean;
  answerId: number;
  state: AnswerState['state'] | null;
  isMine: boolean | null;
};

/** Somebody else can store the same message, or delete the session, between two statements. */
const TRIES = 5;

/** Throws 413. */
export function assertMessageSize(message: string): void {
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    throw tooLarge(`The message is larger than ${MESSAGE_BYTES_MAX} bytes`);
}

/** The key whose limits and account a question counts for, and the person whose documents it may use, if any. */
export const toCaller = ({
  email,
  keyId,
  limits,
  scopes,
}: Pick<Principal, 'email' | 'keyId' | 'limits' | 'scopes'>): TurnCaller => ({
  email,
  keyId,
  limits,
  readsAs: scopes.has('documents:read') ? email : null,
});

/** `owner` is this process. */
export function createTurns(
  sql: Transaction,
  owner: string,
  findAgent: (names: AgentNames) => Agent | undefined | Promise<Agent | undefined>,
) {
  const after = (ms: number) => sql`clock_timestamp() + ${ms}::float8 * interval '1 ms'`;

  const find = async ({
    place,
    reach,
    workspaceId,
    agentId,
    ...question
  }: Question): Promise<Found | undefined> => {
    const isEdit = 'replaces' in place;
    const where = isEdit
      ? sql`s.id = r.session_id AND r.workspace_id = ${workspaceId} AND r.role = 'user' AND r.deleted_at IS NULL`
      : sql`s.key = ${sessionKeyOf(place.session)}`;
    const [found] = await sql<Found[]>`
      SELECT s.id AS "sessionId", s.channel_session_id AS "channelSessionId", s.persona_id AS "personaId",
        s.agi_id AS "agiId", s.pending, s.user_id AS "userId", coalesce(s.reads_as, s.person) AS "readsAs",
        coalesce(${agentId}::text, q.asked_agent_id, r.asked_agent_id) AS "agentId",
        coalesce(q.channel_message_id, ${isEdit ? null : place.channelMessageId}, r.channel_message_id) AS "channelMessageId",
        CASE WHEN q.id IS NULL THEN coalesce(${question.channelAnswerId}::text, ra.channel_message_id)
          ELSE a.channel_message_id END AS "channelAnswerId",
        CASE WHEN q.id IS NULL THEN r.parent_id ELSE q.parent_id END AS "parentId",
        q.id AS "userMessageId", q.message AS text, q.deleted_at IS NOT NULL AS "isDeleted", q.answer_id AS "answerId",
        a.state, a.owner = ${owner} AS "isMine"
      FROM chat_sessions s
      LEFT JOIN chat_messages r ON r.id = ${isEdit ? place.replaces : null}
      LEFT JOIN chat_messages ra ON ra.id = r.answer_id
      LEFT JOIN chat_messages q ON q.session_id = s.id AND q.request_key = ${keyOf({ place, message: question.message })}
      LEFT JOIN chat_messages a ON a.id = q.answer_id
      WHERE ${where} AND ${reachedBy(sql, reach)} ORDER BY s.user_id = ${reach.userId} DESC, s.id LIMIT 1`;
    return found;
  };

  /** Undefined if the session is gone or full by now; throws a unique violation for a message that somebody else has stored. */
  const insert = async (found: Found, { place, workspaceId, message, caller }: Question) => {
    const isEdit = 'replaces' in place;
    const data = isEdit
      ? sql`json_build_object('value', '1', 'old_message_id', ${place.replaces}::bigint, 'new_message_id', question)`
      : sql`json_build_object('value', '1', 'message_id', question, 'chat_session_id', ${found.sessionId}::bigint)`;
    const [row] = await sql<
      (Pick<Turn, 'userMessageId' | 'answerId' | 'parentId' | 'place'> & { isFirst: boolean })[]
    >`
      WITH here AS MATERIALIZED (
        SELECT head_id, pending FROM chat_sessions
        WHERE id = ${found.sessionId} AND pending < ${PENDING_MAX} FOR NO KEY UPDATE),
      ids AS MATERIALIZED (
        SELECT nextval('chat_message_ids') AS question, nextval('chat_message_ids') AS answer, pending = 0 AS is_first,
          ${isEdit ? sql`${found.parentId}::bigint` : sql`head_id`} AS parent
        FROM here),
      questions AS (
        INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, channel_message_id,
          request_key, answer_id, asked_agent_id)
        SELECT question, ${found.sessionId}::bigint, ${workspaceId}, parent, 'user', ${message}, ${found.channelMessageId},
          ${keyOf({ place, message })}::uuid, answer, ${found.agentId} FROM ids),
      answers AS (
        INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, channel_message_id, agent_id,
          state, place, owner, attempts, caller)
        SELECT answer, ${found.sessionId}::bigint, ${workspaceId}, question, 'assistant', '', ${found.channelAnswerId},
          ${found.agentId}, 'pending', answer, ${owner}::uuid, 1, ${JSON.stringify(caller)}::text::json FROM ids),
      sessions AS (
        UPDATE chat_sessions s SET head_id = answer, message_count = s.message_count + 1, pending = s.pending + 1,
          updated_at = clock_timestamp()
        FROM ids WHERE s.id = ${found.sessionId})
      SELECT question AS "userMessageId", answer AS "answerId", parent AS "parentId", answer AS place, is_first AS "isFirst",
        usage_tell(${workspaceId}, ${isEdit ? 'messages.user.update' : 'messages.user.new'}, ${caller.email}, ${data})
      FROM ids`;
    return row;
  };

  /** The failed answer is pending again, at the end of the queue. Undefined if somebody else was faster, or the queue is full. */
  const askAgain = async (found: Found, { caller }: Question) => {
    const [row] = await sql<{ place: number; isFirst: boolean }[]>`
      WITH here AS MATERIALIZED (
        SELECT id, pending FROM chat_sessions
        WHERE id = ${found.sessionId} AND pending < ${PENDING_MAX} FOR NO KEY UPDATE),
      again AS (
        UPDATE chat_messages m SET state = 'pending', place = nextval('chat_message_ids'), owner = ${owner}, attempts = 1,
          stopped = false, caller = ${JSON.stringify(caller)}::text::json, error_msg = NULL, error_kind = NULL,
          retry_after = NULL, created_at = clock_timestamp()
        FROM here WHERE m.id = ${found.answerId} AND m.state = 'failed' AND m.deleted_at IS NULL RETURNING m.place),
      sessions AS (
        UPDATE chat_sessions s SET message_count = s.message_count - 1, pending = s.pending + 1
        FROM again WHERE s.id = ${found.sessionId})
      SELECT again.place, here.pending = 0 AS "isFirst" FROM here, again`;
    return row;
  };

  /** An administrator's question in another person's session is answered from what that person may see. Throws 403. */
  const callerIn = async (found: Found, { workspaceId, reach, caller }: Question) => {
    if (caller.readsAs !== null)
      return found.userId === reach.userId ? caller : { ...caller, readsAs: found.readsAs };
    const agent = await findAgent({ workspaceId, ids: idsOf(found) });
    if (agent !== undefined && agent.kind !== 'bot' && agent.knowledge === 'documents')
      throw forbidden(
        'The API key lacks the scope documents:read, which an agent with knowledge of documents needs',
      );
    return caller;
  };

  /** Marks the answer as one that another process waits for, which is notified of its end. */
  const watch = async (answerId: number): Promise<void> => {
    await sql`
      UPDATE chat_messages SET watched = true WHERE id = ${answerId} AND state = 'pending' AND NOT watched`;
  };

  return {
    /**
     * Accepts a question once: it is durable when this resolves. Throws 403 for an agent whose knowledge the key may not read, 404,
     * 413, 429 for a full queue, and ValidationFailure for a known id with another text.
     */
    async accept(question: Question): Promise<Acceptance> {
      const { workspaceId, message, place } = question;
      assertMessageSize(message);
      for (let attempt = 0; attempt < TRIES; attempt++) {
        // 1. The session, and the earlier turn of the same message. Nothing is locked.
        const found = await find(question);
        if (found === undefined) throw 'replaces' in place ? questionNotFound() : sessionNotFound();
        const { userMessageId, answerId, state } = found;
        if (userMessageId !== null) {
          if (found.isDeleted) throw notFound('The message was deleted');
          if (found.text !== message) throw otherText(question);
          if (state === 'pending' && found.isMine === false) await watch(answerId);
          if (state !== 'failed') return { earlier: { userMessageId, answerId } };
        }
        // 2. A new turn, unless the database has changed since step 1: then it is read again.
        if (found.pending >= PENDING_MAX) throw queueFull();
        const caller = await callerIn(found, question);
        const turn = { ...found, workspaceId, message, caller, attempt: 1 };
        if (userMessageId !== null) {
          const again = await askAgain(found, { ...question, caller });
          if (again !== undefined)
            return { turn: { ...turn, userMessageId, place: again.place }, isFirst: again.isFirst };
          continue;
        }
        try {
          const made = await insert(found, { ...question, caller });
          if (made !== undefined) return { turn: { ...turn, ...made }, isFirst: made.isFirst };
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
        }
      }
      throw unavailable('The session changes too quickly; retry later');
    },

    /**
     * Stores how a question was answered, or that it was not, and how many questions wait behind it. Undefined where the attempt
     * is not the one that may: another process has taken the answer over, or the session was deleted.
     */
    async finish(
      turn: Turn,
      result: { answer: Answer } | { failure: Failure },
    ): Promise<{ createdAt: Date; waiting: number } | undefined> {
      const answer = 'answer' in result ? result.answer : undefined;
      const failure = 'failure' in result ? result.failure : undefined;
      const [row] = await sql<{ createdAt: Date; waiting: number }[]>`
        WITH here AS MATERIALIZED (
          SELECT id FROM chat_sessions WHERE id = ${turn.sessionId} FOR NO KEY UPDATE),
        finished AS (
          UPDATE chat_messages m SET state = ${answer === undefined ? 'failed' : 'done'},
            message = CASE WHEN m.deleted_at IS NULL THEN ${answer?.message ?? ''} ELSE '' END,
            citations = CASE WHEN m.deleted_at IS NULL THEN
              ${answer === undefined ? null : JSON.stringify(answer.citations)}::text::json END,
            agent_id = coalesce(${answer?.agentId ?? null}, m.agent_id), model = ${answer?.model ?? null},
            finish_reason = ${answer?.finishReason ?? null}, prompt_tokens = ${answer?.promptTokens ?? null},
            completion_tokens = ${answer?.completionTokens ?? null}, error_msg = ${failure?.sentence ?? null},
            error_kind = ${failure?.kind ?? null}, retry_after = ${failure?.retryAfterSeconds ?? null},
            place = NULL, owner = NULL, caller = NULL, created_at = clock_timestamp()
          FROM here WHERE m.id = ${turn.answerId} AND m.session_id = here.id AND m.state = 'pending'
            AND m.place = ${turn.place} AND m.attempts = ${turn.attempt}
          RETURNING m.id, m.created_at, m.watched, m.deleted_at IS NULL AS is_there),
        sessions AS (
          UPDATE chat_sessions s SET message_count = s.message_count + is_there::int, pending = s.pending - 1,
            updated_at = clock_timestamp()
          FROM finished WHERE s.id = ${turn.sessionId} RETURNING s.pending)
        SELECT created_at AS "createdAt", pending AS waiting,
          (SELECT pg_notify('atrium_invalidate', 'chat:' || id) WHERE watched),
          CASE WHEN is_there AND ${answer !== undefined} THEN
            usage_tell(${turn.workspaceId}, ${`messages.rag.${answer?.kind}.new`}, ${turn.caller.email}, json_build_object(
              'value', '1', 'message_id', id, 'chat_session_id', ${turn.sessionId}::bigint)) END
        FROM finished, sessions`;
      return row;
    },

    /** The answer that is first in the queue now, if it is this process's; the process of another one is notified. */
    async next(sessionId: number): Promise<number | undefined> {
      const [row] = await sql<{ answerId: number; isMine: boolean }[]>`
        SELECT id AS "answerId", owner = ${owner} AS "isMine",
          (SELECT pg_notify('atrium_invalidate', 'chat:' || id) WHERE owner <> ${owner})
        FROM (SELECT id, owner FROM chat_messages WHERE session_id = ${sessionId} AND state = 'pending'
          ORDER BY place LIMIT 1) AS first`;
      return row?.isMine === true ? row.answerId : undefined;
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

    /** The present state of answers; those of deleted sessions are absent. */
    look(answerIds: readonly number[]) {
      return sql<
        (Pick<Turn, 'answerId' | 'place' | 'attempt'> & {
          state: AnswerState['state'];
          isStopped: boolean;
          isDeleted: boolean;
          isFirst: boolean;
        })[]
      >`
        SELECT m.id AS "answerId", m.state, m.place, m.attempts AS attempt, m.stopped AS "isStopped",
          m.deleted_at IS NOT NULL AS "isDeleted", NOT EXISTS (
            SELECT FROM chat_messages e
            WHERE e.session_id = m.session_id AND e.state = 'pending' AND e.place < m.place) AS "isFirst"
        FROM chat_messages m WHERE m.id = ANY (${[...answerIds]}::bigint[])`;
    },

    watch,

    /** The first answers of sessions whose processes do not make them any more. */
    lost(): Promise<LostAnswer[]> {
      return sql<LostAnswer[]>`
        SELECT f.id AS "answerId", f.place, f.attempts AS attempt, f.owner = ${owner} AS "isMine", p.id IS NULL AS "isGone"
        FROM (SELECT DISTINCT ON (session_id) id, owner, place, attempts, created_at FROM chat_messages
              WHERE state = 'pending' ORDER BY session_id, place) f
        LEFT JOIN chat_processes p ON p.id = f.owner
        WHERE CASE WHEN f.owner = ${owner} THEN f.created_at < ${after(-CLAIM_GRACE_MS)}
          ELSE p.id IS NULL OR p.alive_until < clock_timestamp() END
        LIMIT ${LOST_MAX}`;
    },

    /** Makes the answer this process's, unless another process was faster: then undefined. */
    async adopt({
      answerId,
      place,
      attempt,
    }: LostAnswer): Promise<(Turn & { isStopped: boolean }) | undefined> {
      const [turn] = await sql<(Turn & { isStopped: boolean })[]>`
        WITH mine AS (
          UPDATE chat_messages SET owner = ${owner}, attempts = attempts + 1, created_at = clock_timestamp()
          WHERE id = ${answerId} AND state = 'pending' AND place = ${place} AND attempts = ${attempt} RETURNING *)
        SELECT mine.workspace_id AS "workspaceId", mine.session_id AS "sessionId",
          s.channel_session_id AS "channelSessionId", s.persona_id AS "personaId", s.agi_id AS "agiId",
          mine.agent_id AS "agentId", q.parent_id AS "parentId", q.id AS "userMessageId", mine.id AS "answerId",
          q.channel_message_id AS "channelMessageId", mine.channel_message_id AS "channelAnswerId", q.message,
          mine.caller, mine.place, mine.attempts AS attempt, mine.stopped AS "isStopped"
        FROM mine JOIN chat_messages q ON q.id = mine.parent_id JOIN chat_sessions s ON s.id = mine.session_id`;
      return turn;
    },

    /** Extends the lease of this process, and forgets processes that died long ago. */
    async renew(): Promise<void> {
      await sql`
        WITH forgotten AS (
          DELETE FROM chat_processes WHERE alive_until < clock_timestamp() - interval '1 hour' AND id <> ${owner})
        INSERT INTO chat_processes (id, alive_until) VALUES (${owner}, ${after(ALIVE_MS)})
        ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until`;
    },

    /** Ends the lease of this process, so that any other can take over its answers. */
    async leave(): Promise<void> {
      await sql`DELETE FROM chat_processes WHERE id = ${owner}`;
    },
  };
}

/** The agents that a question names, in the order in which they are tried. */
export const idsOf = ({
  agentId,
  agiId,
  personaId,
}: Pick<Turn, 'agentId' | 'agiId' | 'personaId'>): string[] => [
  ...(agentId === null ? [] : [agentId]),
  agiId,
  `${personaId}`,
];

/** The same change of a message to the same text is the same message. */
const keyOf = ({ place, message }: Pick<Question, 'place' | 'message'>): string =>
  'replaces' in place
    ? requestKeyOf(message, place.replaces)
    : requestKeyOf(place.requestKey ?? place.channelMessageId);

const questionNotFound = () => notFound('There is no user message of this id');

const queueFull = () =>
  tooManyRequests('Too many messages of this session wait for their answers', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const otherText = ({ place }: Question) =>
  valueError(
    ['body', 'channel_user_message_id'],
    'a message of this id was sent before, with another text',
    'replaces' in place ? null : place.channelMessageId,
  );
