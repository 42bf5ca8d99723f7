// The time-outs of one attempt: its phases, and the refusal that the caller gets when one of them takes too long.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { READER_CHECK_MS, READER_CONTENDED_MS } from './limits.ts';

export type Phase = 'connect' | 'first_byte' | 'idle' | 'reader' | 'total';

/** What callers are told. */
export const TIMED_OUT: Record<Phase, string> = {
  connect: 'The upstream could not be connected to in time',
  first_byte: 'The upstream did not begin to answer in time',
  idle: 'The upstream fell silent in the middle of its answer',
  reader: 'The caller has read too slowly',
  total: 'The upstream took too long for its answer',
};

/** The refusal of an attempt whose time-out has expired; undefined where none has. */
export function toTimedOut(phase: Phase | undefined): OpenAiRefusal | undefined {
  if (phase === undefined) return undefined;
  if (phase === 'reader')
    return new OpenAiRefusal('request-timeout', TIMED_OUT.reader, { code: 'reader_timeout' });
  return new OpenAiRefusal('upstream-timeout', TIMED_OUT[phase], { code: `upstream_${phase}_timeout` });
}

/**
 * How long the upstream of a stream has waited for the caller. It is bounded in all, not each time: otherwise a caller that reads a
 * little now and then would hold the upstream's permit for as long as the whole may take.
 */
export function createReaderTime(msMax: number) {
  let sinceMs: number | undefined;
  let earlierMs = 0;
  const waitedMs = (nowMs: number): number => earlierMs + (sinceMs === undefined ? 0 : nowMs - sinceMs);
  return {
    /** The caller is to take an event. Returns when to ask whether its time is over. */
    begin(nowMs: number): number {
      sinceMs ??= nowMs;
      return Math.min(READER_CHECK_MS, Math.max(0, msMax - waitedMs(nowMs)));
    },
    /** The caller wants the next one. */
    end(nowMs: number): void {
      earlierMs = waitedMs(nowMs);
      sinceMs = undefined;
    },
    /** `isContended`: whether other requests wait for the upstream. */
    isOver: (nowMs: number, isContended: boolean): boolean =>
      waitedMs(nowMs) >= (isContended ? Math.min(msMax, READER_CONTENDED_MS) : msMax),
  };
}
