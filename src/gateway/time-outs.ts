// The time-outs of one attempt: one timer, for the phase that the attempt is in.

import { OpenAiRefusal } from '../http/openai-error.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { READER_CHECK_MS, READER_CONTENDED_MS } from './limits.ts';
import type { UpstreamPermits } from './upstream-permits.ts';

type Phase = 'connect' | 'first_byte' | 'idle' | 'reader' | 'total';

/** What callers are told. */
const SENTENCES: Record<Phase, string> = {
  connect: 'The upstream could not be connected to in time',
  first_byte: 'The upstream did not begin to answer in time',
  idle: 'The upstream fell silent in the middle of its answer',
  reader: 'The caller has read too slowly',
  total: 'The upstream took too long for its answer',
};

type Options = {
  timeoutsMs: UpstreamSpec['timeoutsMs'];
  isStream: boolean;
  permits: UpstreamPermits;
};

export class TimeOuts {
  /** The time-out that has expired. */
  expired: Phase | undefined;
  private readonly controller = new AbortController();
  private readonly options: Options;
  private readonly startedAtMs = performance.now();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** How long the upstream has waited for the caller: all times together, and since when it waits. */
  private readerMs = 0;
  private readerSinceMs: number | undefined;

  constructor(options: Options) {
    this.options = options;
  }

  /** Aborts when a time-out expires, and when the attempt is cancelled. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Why the attempt has failed, for the caller; undefined while no time-out has expired. */
  get refusal(): OpenAiRefusal | undefined {
    if (this.expired === undefined) return undefined;
    const isReader = this.expired === 'reader';
    return new OpenAiRefusal(isReader ? 'request-timeout' : 'upstream-timeout', SENTENCES[this.expired], {
      code: isReader ? 'reader_timeout' : `upstream_${this.expired}_timeout`,
    });
  }

  /** The next thing must happen within its time, and everything within the total. */
  await(phase: 'first_byte' | 'idle' | 'total'): void {
    const { timeoutsMs, isStream } = this.options;
    const nowMs = performance.now();
    if (this.readerSinceMs !== undefined) this.readerMs += nowMs - this.readerSinceMs;
    this.readerSinceMs = undefined;
    this.set(phase, timeoutsMs[phase] ?? timeoutsMs[isStream ? 'idle' : 'total'], nowMs);
  }

  /**
   * The caller is to take an event. Its time is bounded in all, not each time: otherwise a caller that reads a little now and
   * then would hold the permit of the upstream for as long as the total.
   */
  awaitReader(): void {
    const nowMs = performance.now();
    this.readerSinceMs ??= nowMs;
    const leftMs = this.options.timeoutsMs.reader - this.readerMs - (nowMs - this.readerSinceMs);
    this.set('reader', Math.min(READER_CHECK_MS, Math.max(0, leftMs)), nowMs);
  }

  expire(phase: Phase): void {
    clearTimeout(this.timer);
    this.expired = phase;
    this.controller.abort(new Error(SENTENCES[phase]));
  }

  /** Ends the time-outs. `cancels`: and the request, if it still runs. */
  end(cancels: boolean): void {
    clearTimeout(this.timer);
    if (cancels) this.controller.abort();
  }

  private set(phase: Phase, withinMs: number, nowMs: number): void {
    clearTimeout(this.timer);
    const leftMs = this.options.timeoutsMs.total - (nowMs - this.startedAtMs);
    const due = leftMs < withinMs ? 'total' : phase;
    this.timer = setTimeout(() => this.onDue(due), Math.min(leftMs, withinMs));
  }

  private onDue(phase: Phase): void {
    const waitedMs = this.readerMs + performance.now() - (this.readerSinceMs ?? 0);
    const { timeoutsMs, permits } = this.options;
    // Others wait for the upstream.
    const readerMsMax = permits.isContended()
      ? Math.min(timeoutsMs.reader, READER_CONTENDED_MS)
      : timeoutsMs.reader;
    if (phase === 'reader' && waitedMs < readerMsMax) this.awaitReader();
    else this.expire(phase);
  }
}
