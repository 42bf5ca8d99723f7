import type { Author } from '../../core/author.ts';
import { newId } from '../../core/ids.ts';
import { type Page, type PageRequest, toPage } from '../../http/paging.ts';
import type { Appender } from '../appender.ts';
import { REPLAY_MAX } from '../limits.ts';
import { decodeRow, encodeRow } from '../row.ts';
import type { DeadLetterRead } from '../schema.ts';
import type { DeadLetter, DeadLetterStore } from '../store/dead-letters.ts';

/** An administrator's operations on events that the database refused. */
export function createDeadLetters({
  store,
  appender,
}: {
  store: DeadLetterStore;
  appender: Pick<Appender, 'append'>;
}) {
  return {
    async list(workspaceId: string, page: PageRequest): Promise<Page<DeadLetterRead>> {
      return toPage(await store.list(workspaceId, page), page.limit, render);
    },

    /**
     * Sends the oldest 1,000, or those with these ids, through the buffer again, and returns their number. After a crash
     * before their deletion they can be sent once more, because an event is stored once and has one dead letter. Throws
     * 503 if the buffer refuses them. The row of the audit log is committed first, so that nothing is sent without it.
     */
    async replay(author: Author, workspaceId: string, ids: readonly string[] | undefined): Promise<number> {
      const letters = await store.oldest(workspaceId, REPLAY_MAX, ids);
      if (letters.length === 0) return 0;
      await store.recordReplay(workspaceId, letters.length, author);
      await appender.append(letters.map(({ row }) => toCopy(Buffer.from(row))));
      // An event that was refused again meanwhile has a new copy, and stays.
      await store.deleteCopies(letters);
      return letters.length;
    },

    /** Deletes all, or those with these ids, permanently; returns their number. */
    purge: (author: Author, workspaceId: string, ids: readonly string[] | undefined): Promise<number> =>
      store.delete(workspaceId, ids, author),
  };
}

/** A copy of the event that can be distinguished from the refused one. */
const toCopy = (row: Buffer): Buffer => encodeRow({ ...decodeRow(row), id: newId() });

function render({ id, createdAt, reason, row }: DeadLetter): DeadLetterRead {
  const event = decodeRow(Buffer.from(row));
  return {
    id,
    created_at: createdAt.toISOString(),
    reason,
    event: {
      event_id: event.eventId,
      source: event.source,
      type: event.type,
      subject: event.subject,
      time: new Date(Number(event.timeMicroseconds / 1000n)).toISOString(),
      data: event.data.slice(0, SHOWN_DATA_MAX),
    },
  };
}

const SHOWN_DATA_MAX = 4096;
