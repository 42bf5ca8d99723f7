// One usage record a model call. It is durable in the event buffer before the answer ends. While the buffer fails, answers do not
// wait: their records wait in memory, and are recorded in order as soon as it works again.

import type { Clock } from '../../core/clock.ts';
import { unavailable } from '../../core/errors.ts';
import type { RecordEvents, ServiceEvent } from '../../core/event.ts';
import { newId } from '../../core/ids.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { sleep } from '../../core/wait.ts';
import { counter, type Metric } from '../../http/metrics.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { USAGE_RECORD_WAIT_MS, USAGE_RECORDS_AT_ONCE, USAGE_RECORDS_MAX } from '../limits.ts';
import type { Usage } from '../usage.ts';
import { MODEL_USAGE_TYPE, toRecordsWorkspace } from './projection.ts';

export type Outcome = 'ok' | 'cached' | 'refused' | 'failed' | 'cancelled';

/** What a call has used, and who pays for it. It contains no text of the request. */
export type UsageRecord = {
  workspaceId: string;
  /** The key owner's e-mail. */
  subject: string;
  /** '' without a key. */
  keyId: string;
  endpoint: Endpoint;
  model: string;
  /** The name under which /metrics counts the call. */
  metricsModel: string;
  target: string;
  outcome: Outcome;
  /** A further part of a request that has a record already. */
  continues: boolean;
  usage: Usage;
  cost: number;
  latencyMs: number;
  firstEventMs: number | undefined;
  requestId: string | undefined;
  traceId: string | undefined;
};

const RETRY_MS = 250;
/** How often the records that wait are offered to the buffer at a shutdown. */
const LAST_ATTEMPTS = 8;
/** Longer names would not fit into an index entry of the sums. */
const NAME_UNITS_MAX = 300;

type Waiting = { event: ServiceEvent; recorded: PromiseWithResolvers<void> };

export class UsageRecords {
  private readonly record: RecordEvents;
  private readonly clock: Clock;
  private readonly log: Logger;
  /** In the order of the calls; the first ones are being recorded. */
  private readonly waiting: Waiting[] = [];
  private readonly stopping = new AbortController();
  private readonly used = new Map<string, { input: number; output: number; cost: number }>();
  private writing: Promise<void> | undefined;
  private failing = false;

  constructor({ record, clock, log }: { record: RecordEvents; clock: Clock; log: Logger }) {
    this.record = record;
    this.clock = clock;
    this.log = log;
  }

  /** Throws 503 where a call could not be recorded any more. */
  requireRoom(): void {
    if (this.waiting.length >= USAGE_RECORDS_MAX)
      throw unavailable(
        'Model calls cannot be recorded at the moment: the event buffer does not accept them',
      );
  }

  /** Records that wait because the buffer fails; 0 while it works. */
  get delayed(): number {
    return this.failing ? this.waiting.length : 0;
  }

  /** Resolves once the record is durable, or at once while the buffer fails or is slow. Never rejects. */
  add(record: UsageRecord): Promise<void> {
    this.count(record);
    const waiting = { event: toEvent(record, this.clock.now()), recorded: Promise.withResolvers<void>() };
    this.waiting.push(waiting);
    this.writing ??= this.write();
    return this.failing ? Promise.resolve() : waiting.recorded.promise;
  }

  /** One append at a time: calls that end during it share the next one. Recording an event again stores it once. */
  private async write(): Promise<void> {
    let attempts = LAST_ATTEMPTS;
    while (this.waiting.length > 0 && attempts > 0) {
      const batch = this.waiting.slice(0, USAGE_RECORDS_AT_ONCE);
      const slow = setTimeout(() => this.release(), USAGE_RECORD_WAIT_MS);
      try {
        await this.record(batch.map(({ event }) => event));
        this.waiting.splice(0, batch.length);
        for (const { recorded } of batch) recorded.resolve();
        if (this.failing) this.log.info({}, 'usage records of model calls are durable again');
        this.failing = false;
      } catch (error) {
        this.release(error);
        await sleep(RETRY_MS, this.stopping.signal);
        if (!this.stopping.signal.aborted) continue;
        attempts -= 1;
        await Bun.sleep(RETRY_MS);
      } finally {
        clearTimeout(slow);
      }
    }
    this.writing = undefined;
  }

  /** Lets the calls go that wait for the buffer, and those to come until it works. */
  private release(cause?: unknown): void {
    if (!this.failing)
      this.log.warn({ err: cause }, 'the event buffer does not accept usage records, which wait in memory');
    this.failing = true;
    for (const { recorded } of this.waiting) recorded.resolve();
  }

  private count({ metricsModel, usage, cost }: UsageRecord): void {
    const used = this.used.get(metricsModel) ?? { input: 0, output: 0, cost: 0 };
    this.used.set(metricsModel, used);
    used.input += usage.promptTokens;
    used.output += usage.completionTokens;
    used.cost += cost;
  }

  /** The use since the start of the process. */
  readonly metrics: Metric[] = [
    counter('atrium_model_tokens_total', 'Tokens of calls, as they are recorded.', () =>
      [...this.used].flatMap(([model, used]) =>
        (['input', 'output'] as const).map((type) => ({ labels: { model, type }, value: used[type] })),
      ),
    ),
    counter('atrium_model_cost_total', 'Their cost, by the prices of the models file.', () =>
      [...this.used].map(([model, used]) => ({ labels: { model }, value: used.cost })),
    ),
  ];

  readonly job: Job = {
    name: 'gateway.usage-records',
    start: () => undefined,
    settle: async () => this.writing,
    stop: async () => {
      this.stopping.abort();
      await this.writing;
      const lost = this.waiting.length;
      if (lost > 0) this.log.error({ records: lost }, 'usage records of model calls are lost');
    },
  };
}

const toEvent = (record: UsageRecord, time: Date): ServiceEvent => ({
  workspaceId: toRecordsWorkspace(record.workspaceId),
  type: MODEL_USAGE_TYPE,
  subject: record.subject,
  eventId: newId(),
  time,
  data: {
    value: record.continues ? 0 : 1,
    key_id: record.keyId,
    endpoint: record.endpoint,
    model: toName(record.model),
    target: toName(record.target),
    outcome: record.outcome,
    estimated: record.usage.estimated,
    prompt_tokens: record.usage.promptTokens,
    completion_tokens: record.usage.completionTokens,
    cached_tokens: record.usage.cacheReadTokens,
    cost: record.cost,
    latency_ms: record.latencyMs,
    first_event_ms: record.firstEventMs,
    request_id: record.requestId,
    trace_id: record.traceId,
  },
});

/** Callers may make up names of models: the database stores no NUL and no half of a surrogate pair. */
const toName = (text: string): string => text.slice(0, NAME_UNITS_MAX).replaceAll('\0', '').toWellFormed();
