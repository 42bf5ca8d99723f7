import type { Clock } from '../core/clock.ts';
import type { RecordEvent } from '../core/event.ts';
import { newId, newRandomId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { OWN_SOURCE } from './event.ts';
import { encodeRow } from './row.ts';
import type { Spool } from './spool.ts';

export type RecordFigures = { recorded: number; lost: number };

/** What `RecordEvent` promises. An event that not even the disk takes is lost, logged and counted. */
export function createRecord({
  spool,
  clock,
  log,
}: {
  spool: Pick<Spool, 'add'>;
  clock: Clock;
  log: Logger;
}): {
  record: RecordEvent;
  figures: RecordFigures;
} {
  const figures: RecordFigures = { recorded: 0, lost: 0 };
  const record: RecordEvent = ({ workspaceId, type, subject, data, eventId, time }) => {
    try {
      spool.add(
        encodeRow({
          id: newId(),
          workspaceId,
          eventId: eventId ?? newRandomId(),
          source: OWN_SOURCE,
          type,
          subject,
          timeMicroseconds: BigInt((time ?? clock.now()).getTime()) * 1000n,
          data: JSON.stringify(data),
          extensions: null,
          value: String(data.value),
        }),
      );
      figures.recorded += 1;
    } catch (error) {
      figures.lost += 1;
      log.error({ err: error, type, workspace_id: workspaceId }, 'an event of the service is lost');
    }
  };
  return { record, figures };
}
