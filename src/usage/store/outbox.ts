// The outbox: events that were committed with their cause, and that are not stored yet.

import type { EventProjection } from '../../core/event.ts';
import { newId } from '../../core/ids.ts';
import type { Reserved, Sql } from '../../infra/postgres/client.ts';
import { OWN_SOURCE } from '../own-source.ts';
import { encodeRow } from '../row.ts';
import { createDeadLetterStore, type NewDeadLetter } from './dead-letters.ts';
import { lockStripes } from './lock-stripes.ts';
import { storeStatement } from './statement.ts';

/** The number of events in the outbox, and the age of the oldest one. */
export type OutboxBacklog = { events: number; oldestSeconds: number };

export type OutboxStore = ReturnType<typeof createOutboxStore>;

type OutboxRow = {
  eventId: string;
  workspaceId: string;
  type: string;
  subject: string;
  createdAt: Date;
  data: string;
};

/** Any process may move events at any time: an event leaves the outbox in the statement that stores it. */
export function createOutboxStore(sql: Sql, projections: readonly EventProjection[] = []) {
  const statement = storeStatement(MOVED, projections);
  let connection: Promise<Reserved> | undefined;

  /** A connection of its own, on which the statement is planned once. */
  const open = async (): Promise<Reserved> => {
    const reserved = sql.reserve({ onLost: close });
    try {
      await reserved.unsafe(`PREPARE usage_move (bigint[]) AS ${statement}`);
      return reserved;
    } catch (error) {
      reserved.release();
      throw error;
    }
  };
  const close = (): void => {
    connection?.then(({ release }) => release()).catch(() => undefined);
    connection = undefined;
  };

  return {
    async oldest(limit: number): Promise<number[]> {
      const [row] = await sql<{ ids: number[] }[]>`
        SELECT ARRAY(SELECT id FROM usage_outbox ORDER BY id LIMIT ${limit}) AS ids`;
      return row?.ids ?? [];
    },

    /**
     * Moves those that are still in the outbox, in one transaction, so that a workspace's events are stored in their order. It is one
     * message, after which the server waits for nothing before it commits: its locks never wait for this process.
     */
    async move(ids: readonly number[]): Promise<void> {
      connection ??= open();
      const array = `'{${ids.join()}}'::bigint[]`;
      const locks = lockStripes(`usage_outbox WHERE id = ANY (${array})`);
      try {
        await (await connection).unsafe(`${locks}; EXECUTE usage_move(${array})`);
      } catch (error) {
        close();
        throw error;
      }
    },

    /** Closes the connection; another move opens one again. */
    close,

    /** Makes an event a dead letter with the database's message; undefined if it is no longer there. */
    bury(id: number, reason: string): Promise<NewDeadLetter | undefined> {
      return sql.begin(async (tx) => {
        const [gone] = await tx<OutboxRow[]>`
          DELETE FROM usage_outbox WHERE id = ${id}
          RETURNING event_id AS "eventId", workspace_id AS "workspaceId", type, subject, created_at AS "createdAt",
            data::text AS data`;
        if (gone === undefined) return undefined;
        const { createdAt, ...event } = gone;
        const row = encodeRow({
          ...event,
          id: newId(),
          source: OWN_SOURCE,
          extensions: null,
          value: VALUE,
          timeMicroseconds: BigInt(createdAt.getTime()) * 1000n,
        });
        const letter = { workspaceId: event.workspaceId, reason, row };
        await createDeadLetterStore(tx).add(letter);
        return letter;
      });
    },

    async backlog(): Promise<OutboxBacklog> {
      const [row] = await sql<OutboxBacklog[]>`
        SELECT count(*)::int AS events,
          coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(created_at))), 0)::float8 AS "oldestSeconds"
        FROM usage_outbox`;
      return row ?? { events: 0, oldestSeconds: 0 };
    },
  };
}

/** A UUID of version 7 that ascends with the time of the event, and within a millisecond with its place in the outbox. */
const STORED_ID = `
  (lpad(to_hex(floor(extract(epoch FROM created_at) * 1000)::bigint), 12, '0') || '7000' ||
    to_hex((1::bigint << 63) | id))::uuid`;

/** `data.value` of every event of a transaction, as a number. */
const VALUE = '1';

const MOVED = `(
  DELETE FROM usage_outbox WHERE id = ANY ($1::bigint[])
  RETURNING ${STORED_ID} AS id, workspace_id, event_id::text, '${OWN_SOURCE}' AS source, type, subject,
    created_at AT TIME ZONE 'UTC' AS time, data, NULL::json AS extensions, '${VALUE}' AS value)`;
