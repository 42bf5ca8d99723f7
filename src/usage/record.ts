import type { Clock } from '../core/clock.ts';
import type { RecordEvent } from '../core/event.ts';
import { newId, newRandomId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { OWN_SOURCE } from './event.ts';
import { encodeRow } from './row.ts';
import type { Spool } from './spool.ts';

/** `failing`: the last event was not taken. */
export type RecordFigures = { recorded: number; refused: number; failing: boolean };

/** What `RecordEvent` promises. An event that the disk does not take is counted; the first one in a row is logged. */
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
  const figures: RecordFigures = { recorded: 0, refused: 0, failing: false };
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
      if (figures.failing) log.info({}, "the service's own events are taken by the disk again");
      figures.failing = false;
      return true;
    } catch (error) {
      figures.refused += 1;
      if (!figures.failing)
        log.error(
          { err: error, type },
          "the disk does not take the service's own events; they are kept for later",
        );
      figures.failing = true;
      return false;
    }
  };
  return { record, figures };
}
