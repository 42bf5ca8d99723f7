import type { RecordEvents } from '../core/event.ts';
import { newId } from '../core/ids.ts';
import type { Appender } from './appender.ts';
import { OWN_SOURCE } from './own-source.ts';
import { encodeRow } from './row.ts';

export type RecordMetrics = { recorded: number; refused: number };

export function createRecord(appender: Appender): { record: RecordEvents; metrics: RecordMetrics } {
  const metrics: RecordMetrics = { recorded: 0, refused: 0 };
  const record: RecordEvents = async (events) => {
    const rows = events.map(({ workspaceId, type, subject, data, eventId, time }) =>
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
    try {
      await appender.append(rows);
      metrics.recorded += rows.length;
    } catch (error) {
      metrics.refused += rows.length;
      throw error;
    }
  };
  return { record, metrics };
}
