// Usage events of conversations. Each is stored with the change that it tells of, recorded after the commit, and
// forgotten then: a crash in between lets another process record it, under the same id, which is storing it once.

import type { Batcher } from '../core/batcher.ts';
import type { RecordEvent } from '../core/event.ts';

/** A row of the outbox, as the statement that made it returns it. */
export type OutboxEvent = {
  id: number;
  event_id: string;
  workspace_id: string;
  type: string;
  subject: string;
  data: { value: string; [field: string]: unknown };
  created_at: string;
};

/**
 * Records what a change has caused; nothing for a change that has caused nothing. Returns the ids of what is recorded:
 * the others stay in the outbox, and are tried again.
 */
export type Tell = (events: OutboxEvent | readonly OutboxEvent[] | null) => number[];

export function createTell({
  record,
  recorded,
}: {
  record: RecordEvent;
  recorded: Pick<Batcher<number>, 'add'>;
}): Tell {
  return (events) => {
    const told = [events ?? []].flat().filter((event) => {
      const { event_id: eventId, workspace_id: workspaceId, type, subject, data } = event;
      return record({ workspaceId, type, subject, data, eventId, time: new Date(event.created_at) });
    });
    const ids = told.map(({ id }) => id);
    // One that the batcher does not take is recorded again in its time.
    for (const id of ids) recorded.add(id);
    return ids;
  };
}
