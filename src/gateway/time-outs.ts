// The time-outs of one attempt: its phases, and the refusal that the caller gets when one of them takes too long.

import { OpenAiRefusal } from '../http/openai-error.ts';

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
 * little now and then would hold the upstream's place for as long as the whole may take.
 */
export function createReaderTime(msMax: number) {
  let sinceMs: number | undefined;
  let waitedMs = 0;
  return {
    /** The caller is to take an event. Returns how long the upstream may still wait. */
    begin(nowMs: number): number {
      sinceMs ??= nowMs;
      return msMax - waitedMs - (nowMs - sinceMs);
    },
    /** The caller wants the next one. */
    end(nowMs: number): void {
      if (sinceMs !== undefined) waitedMs += nowMs - sinceMs;
      sinceMs = undefined;
    },
  };
}
