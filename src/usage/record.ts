import type { RecordEvent } from '../core/event.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { OWN_SOURCE } from './event.ts';
import { encodeRow } from './row.ts';
import type { Spool } from './spool.ts';

/** `failing`: the last event was refused. */
export type RecordMetrics = { recorded: number; refused: number; failing: boolean };

/** `RecordEvent`: an event that the disk does not accept is counted; the first one in a row is logged. */
export function createRecord({ spool, log }: { spool: Pick<Spool, 'add'>; log: Logger }): {
  record: RecordEvent;
  metrics: RecordMetrics;
} {
  const metrics: RecordMetrics = { recorded: 0, refused: 0, failing: false };
  const record: RecordEvent = ({ workspaceId, type, subject, data, eventId, time }) => {
    try {
      spool.add(
        encodeRow({
          id: newId(),
          workspaceId,
          eventId,
          source: OWN_SOURCE,
          type,
          subject,
          timeMicroseconds: BigInt(time.getTime()) * 1000n,
          data: JSON.stringify(data),
          extensions: null,
          value: String(data.value),
        }),
      );
      metrics.recorded += 1;
      if (metrics.failing) log.info({}, 'the disk takes accounts of models again');
      metrics.failing = false;
      return true;
    } catch (error) {
      metrics.refused += 1;
      if (!metrics.failing)
        log.error({ err: error, type }, 'the disk does not take accounts of models; they are kept for later');
      metrics.failing = true;
      return false;
    }
  };
  return { record, metrics };
}
