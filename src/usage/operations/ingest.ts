import type { Clock } from '../../core/clock.ts';
import { type ValidationEntry, ValidationFailure } from '../../core/errors.ts';
import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import { MISTAKES_MAX } from '../../http/limits.ts';
import type { Appender } from '../appender.ts';
import { checkEvent, type SentEvent } from '../check-event.ts';
import { encodeRow } from '../row.ts';

export type IngestResult = { index: number; id: string | null } & (
  | { status: 'accepted'; warning?: string }
  | { status: 'rejected'; error: string }
);
export type Ingested = { accepted: number; rejected: number; results: IngestResult[] };

/** None of the events was accepted. */
export class NothingAccepted extends ValidationFailure {
  readonly ingested: Ingested;

  constructor(entries: readonly ValidationEntry[], ingested: Ingested) {
    super(entries);
    this.ingested = ingested;
  }
}

/** Accepts events of workspaces. */
export class Ingestion {
  private readonly appender: Appender;
  private readonly clock: Clock;

  constructor({ appender, clock }: { appender: Appender; clock: Clock }) {
    this.appender = appender;
    this.clock = clock;
  }

  /**
   * The events are durable when this resolves. Throws `NothingAccepted` if every event is invalid, and 503 if the buffer
   * cannot accept them: then all may be sent again, and are stored once.
   */
  async take(workspaceId: string, sent: readonly SentEvent[]): Promise<Ingested> {
    const rows: Buffer[] = [];
    const mistakes: ValidationEntry[] = [];
    const now = this.clock.now();
    const check = (each: SentEvent, index: number): IngestResult => {
      const checked = checkEvent(workspaceId, each, now);
      const given = each.fields['id'];
      const id = typeof given === 'string' && given.length <= SHOWN_ID_MAX ? given.toWellFormed() : null;
      if ('event' in checked) {
        rows.push(encodeRow(checked.event));
        const { warning } = checked;
        return { index, id, status: 'accepted', ...(warning === undefined ? {} : { warning }) };
      }
      if (mistakes.length < MISTAKES_MAX) mistakes.push(...checked.mistakes);
      return { index, id, status: 'rejected', error: checked.mistakes.map(toSentence).join('; ') };
    };
    const results: IngestResult[] = [];
    let sliceEndsAt = performance.now() + SLICE_MS;
    for (const [index, each] of sent.entries()) {
      if (performance.now() > sliceEndsAt) sliceEndsAt = await nextTimeSlice();
      results.push(check(each, index));
    }
    const ingested = { accepted: rows.length, rejected: sent.length - rows.length, results };
    if (rows.length === 0) throw new NothingAccepted(mistakes, ingested);
    await this.appender.append(rows);
    return ingested;
  }
}

const SHOWN_ID_MAX = 1024;

/** `data.value: Field required`: the event's position in the request is reported separately. */
const toSentence = ({ loc, msg }: ValidationEntry): string => {
  const inEvent = loc.slice(typeof loc[1] === 'number' ? 2 : 1);
  return `${inEvent.length === 0 ? 'data' : inEvent.join('.')}: ${msg}`;
};
