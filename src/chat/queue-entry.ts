// An answer that is made in this process, or waits for its turn here.

import type { TraceContext } from '../core/trace-context.ts';
import { currentTrace } from '../core/tracing.ts';
import { type OpenStream, openStream } from './answer-stream.ts';
import type { Turn } from './turn.ts';

export type Entry = {
  turn: Turn;
  open: OpenStream;
  running: Promise<void> | undefined;
  isDeleted: boolean;
  isFirst: boolean;
  ownedAt: number;
  /** Another process has taken it over. */
  isLost: boolean;
  /** Its end may be in the database already, which alone knows from now on whether it counts. */
  isStoring: boolean;
  ending: AbortController;
  /** Of the request that entered it. */
  trace: TraceContext | undefined;
};

/** `takenAt` (performance.now) is before the turn was taken; `isSure` says whether the entry is still this process's. */
export function createEntry(
  turn: Turn,
  { takenAt, isSure }: { takenAt: number; isSure(entry: Entry): boolean },
): Entry {
  const entry: Entry = {
    turn,
    open: openStream(turn, () => isSure(entry)),
    running: undefined,
    ownedAt: takenAt,
    // An answer that is taken over may have been deleted before: an empty question is not sent to the model.
    isDeleted: turn.message === '',
    isFirst: false,
    isLost: false,
    isStoring: false,
    ending: new AbortController(),
    trace: currentTrace(),
  };
  return entry;
}
