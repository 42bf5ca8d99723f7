// The time-outs of one call of an upstream: one timer, for the phase that the call is in.

import { MovableTimer } from '../core/movable-timer.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Timeouts } from './catalogue/model.ts';
import { READER_CHECK_MS, READER_CONTENDED_MS } from './limits.ts';

type Phase = 'connect' | 'first_byte' | 'idle' | 'reader' | 'total';

/** What callers are told. */
const LATE: Record<Phase, string> = {
  connect: 'The upstream could not be connected to in time',
  first_byte: 'The upstream did not begin to answer in time',
  idle: 'The upstream fell silent in the middle of its answer',
  reader: 'The caller has read too slowly',
  total: 'The upstream took too long for its answer',
};

export class TimeOuts {
  /** The time-out that has expired. */
  expired: Phase | undefined;
  readonly startedAtMs = performance.now();
  private readonly controller = new AbortController();
  private readonly timer = new MovableTimer(() => this.onDue());
  private readonly timeoutsMs: Timeouts;
  private readonly isStream: boolean;
  /** Whether others wait for the upstream. */
  private readonly isContended: () => boolean;
  private phase: Phase = 'total';
  /** How long the upstream has waited for the caller: all times together, and since when it waits. */
  private readerMs = 0;
  private readerSinceMs: number | undefined;

  constructor(timeoutsMs: Timeouts, isStream: boolean, isContended: () => boolean) {
    this.timeoutsMs = timeoutsMs;
    this.isStream = isStream;
    this.isContended = isContended;
  }

  /** Aborts when a time-out expires, and when the call is cancelled. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The time-out that has expired, for the caller. */
  get refusal(): OpenAiRefusal | undefined {
    if (this.expired === undefined) return undefined;
    const isReader = this.expired === 'reader';
    return new OpenAiRefusal(isReader ? 'request-timeout' : 'upstream-timeout', LATE[this.expired], {
      code: isReader ? 'reader_timeout' : `upstream_${this.expired}_timeout`,
    });
  }

  /** The next thing must happen within its time, and everything within the total. */
  await(phase: 'first_byte' | 'idle' | 'total'): void {
    const { timeoutsMs } = this;
    const nowMs = performance.now();
    if (this.readerSinceMs !== undefined) this.readerMs += nowMs - this.readerSinceMs;
    this.readerSinceMs = undefined;
    this.set(phase, timeoutsMs[phase] ?? timeoutsMs[this.isStream ? 'idle' : 'total'], nowMs);
  }

  /**
   * The caller is to take an event. Its time is bounded in all, not each time: otherwise a caller that reads a little now and
   * then would hold the permit of the upstream for as long as the total.
   */
  awaitReader(): void {
    const nowMs = performance.now();
    this.readerSinceMs ??= nowMs;
    const leftMs = this.timeoutsMs.reader - this.readerMs - (nowMs - this.readerSinceMs);
    this.set('reader', Math.min(READER_CHECK_MS, Math.max(0, leftMs)), nowMs);
  }

  expire(phase: Phase): void {
    this.timer.clear();
    this.expired = phase;
    this.controller.abort(new Error(LATE[phase]));
  }

  /** No time-out expires any more. */
  end(): void {
    this.timer.clear();
  }

  /** Cancels the request, if it still runs. */
  cancel(): void {
    this.controller.abort();
  }

  private set(phase: Phase, withinMs: number, nowMs: number): void {
    const totalAtMs = this.startedAtMs + this.timeoutsMs.total;
    this.phase = totalAtMs < nowMs + withinMs ? 'total' : phase;
    this.timer.moveTo(Math.min(totalAtMs, nowMs + withinMs));
  }

  private onDue(): void {
    const { reader } = this.timeoutsMs;
    const waitedMs = this.readerMs + performance.now() - (this.readerSinceMs ?? 0);
    const mostMs = this.isContended() ? Math.min(reader, READER_CONTENDED_MS) : reader;
    if (this.phase === 'reader' && waitedMs < mostMs) this.awaitReader();
    else this.expire(this.phase);
  }
}
