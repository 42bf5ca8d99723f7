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

/** Records what a change has caused; nothing for a change that has caused nothing. */
export type Tell = (events: OutboxEvent | readonly OutboxEvent[] | null) => void;

export function createTell({
  record,
  recorded,
}: {
  record: RecordEvent;
  recorded: Pick<Batcher<number>, 'add'>;
}): Tell {
  return (events) => {
    if (events === null) return;
    for (const event of [events].flat()) {
      const { event_id: eventId, workspace_id: workspaceId, type, subject, data } = event;
      record({ workspaceId, type, subject, data, eventId, time: new Date(event.created_at) });
      // One that is not taken is recorded again in its time.
      recorded.add(event.id);
    }
  };
}
