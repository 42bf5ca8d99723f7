// The result of an attempt: an answer to forward, or a failure that says which attempts may follow.

import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Endpoint } from './adapters/adapter.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { EventBlock, EventBlocks } from './events.ts';
import { ANSWER_BYTES_MAX } from './limits.ts';
import type { TimeOuts } from './time-outs.ts';
import {
  CREDENTIALS_REFUSED,
  isFailedEvent,
  isFailure,
  type Protocol,
  readError,
  readEventError,
  type UpstreamError,
} from './upstream-error.ts';
import { passedHeaders } from './upstream-request.ts';
import { checkAnswer, type StreamMeter, type Usage } from './usage.ts';

export type WholeAnswer = {
  kind: 'whole';
  status: number;
  headers: Record<string, string>;
  bytes: Uint8Array;
  /** The name of the model in it, where that is known without reading it. */
  model?: string;
  usage: Usage | undefined;
};

export type StreamAnswer = {
  kind: 'stream';
  headers: Record<string, string>;
  /** The first events, so that an upstream that fails before them can be replaced; undefined: still silent. */
  first: EventBlock | undefined;
  blocks: EventBlocks;
  /** Of a translated stream, whose own events say more than those that are made of them. */
  meter?: StreamMeter | undefined;
  /** Absent for a built-in model. */
  timeOuts?: TimeOuts;
  /** Ends the attempt once: releases its permit and reports its outcome, with the reason of a failure in our words. */
  end(outcome: 'ok' | 'failed' | 'left', failure?: OpenAiRefusal): void;
};

export type Answer = WholeAnswer | StreamAnswer;

/** The attempts that may follow a failure: the same target again, only others, or none. */
export type NextTry = 'same' | 'others' | 'none';

export class AttemptFailure extends Error {
  readonly next: NextTry;
  readonly refusal: OpenAiRefusal;
  /** The upstream's own refusal, for the caller if nothing else helps. */
  readonly answer: WholeAnswer | undefined;
  readonly retryAfterMs: number | undefined;
  /** False where the upstream cannot have seen the request. */
  readonly sent: boolean;
  /** Whether the target is less well for it. */
  readonly unwell: boolean;
  /** The upstream's status, if the upstream caused the failure. */
  readonly status: number | undefined;

  constructor(
    refusal: OpenAiRefusal,
    options: {
      next: NextTry;
      answer?: WholeAnswer;
      retryAfterMs?: number | undefined;
      sent?: boolean;
      unwell?: boolean;
      status?: number | undefined;
    },
  ) {
    super(refusal.message, { cause: refusal.cause });
    this.refusal = refusal;
    this.next = options.next;
    this.answer = options.answer;
    this.retryAfterMs = options.retryAfterMs;
    this.sent = options.sent ?? true;
    this.unwell = options.unwell ?? true;
    this.status = options.status;
  }
}

const failed = (sentence: string, options: { cause?: unknown; code?: string } = {}): OpenAiRefusal =>
  new OpenAiRefusal('upstream-failed', sentence, options);

/** An answer that makes no sense: nothing of it goes on to the caller, or into the log. */
export function nonsense(error?: unknown): AttemptFailure {
  // The message of a SyntaxError quotes the text that could not be parsed.
  const cause = error instanceof SyntaxError ? new Error('the answer is not JSON') : error;
  const refusal = failed('The upstream answered with something that is no answer', { cause });
  return new AttemptFailure(refusal, { next: 'same' });
}

/** A stream that begins with an error has not begun: throws it as an AttemptFailure. */
export function refuseError({ events: [first] }: EventBlock, spec: UpstreamSpec): void {
  if (first !== undefined && isFailedEvent(first, true)) throw toldFailure(readEventError(first, spec));
}

/** The failure that a 2xx tells of. */
export function toldFailure({ error, hasReason, blames }: UpstreamError): AttemptFailure {
  if (!hasReason) return nonsense();
  if (blames === 'credentials') return credentialsRefused();
  return new AttemptFailure(failed('The upstream failed'), {
    next: blames === 'quota' ? 'others' : 'same',
    answer: toErrorAnswer(502, {}, error),
    unwell: blames !== 'request',
  });
}

const credentialsRefused = (status?: number): AttemptFailure =>
  new AttemptFailure(failed(CREDENTIALS_REFUSED, { code: 'upstream_credentials' }), {
    next: 'none',
    unwell: false,
    status,
  });

const RETRIED: ReadonlySet<number> = new Set([408, 409, 429]);

/** A 2xx as it stands. Throws AttemptFailure where it is no JSON object, or tells of a failure. */
export function toWholeAnswer(
  { status, headers }: Response,
  bytes: Uint8Array,
  { spec, endpoint }: { spec: UpstreamSpec; endpoint: Endpoint },
): WholeAnswer {
  let checked: ReturnType<typeof checkAnswer>;
  try {
    checked = checkAnswer(bytes);
  } catch (error) {
    throw nonsense(error);
  }
  const { usage, value } = checked;
  if (value !== undefined && isFailure(value, endpoint))
    throw toldFailure(readError(bytes, 502, { spec, explain: undefined }));
  return { kind: 'whole', status, headers: passedHeaders(headers, spec), bytes, usage };
}

/** The caller's error for a status other than 2xx. */
export function toRefusal(
  response: Response,
  bytes: Uint8Array,
  protocol: Protocol & { spec: UpstreamSpec },
): WholeAnswer | AttemptFailure {
  const { headers } = response;
  // No response can have a status beyond 599.
  const status = response.status > 599 ? 502 : response.status;
  if (status < 400) {
    const sentence = 'The upstream redirected the request; its base_url is wrong';
    const refusal = failed(sentence, { code: 'upstream_misconfigured' });
    return new AttemptFailure(refusal, { next: 'none', unwell: false, status });
  }
  const { error, hasReason, blames } = readError(bytes, status, protocol);
  if (blames === 'credentials') return credentialsRefused(status);
  const passed = { ...passedHeaders(headers, protocol.spec), 'content-type': 'application/json' };
  const answer = toErrorAnswer(status, passed, error);
  if (status < 500 && !RETRIED.has(status)) return answer;
  const isFinal = blames === 'quota' || headers.get('x-should-retry') === 'false';
  const sentence = hasReason
    ? `The upstream answered ${status}`
    : `The upstream failed with ${status} and without a reason`;
  return new AttemptFailure(failed(sentence), {
    next: isFinal ? 'others' : 'same',
    ...(hasReason || status < 500 ? { answer } : {}),
    status,
    retryAfterMs: readRetryAfter(headers),
    unwell: status >= 500 || status === 429,
  });
}

const toErrorAnswer = (status: number, headers: Record<string, string>, error: object): WholeAnswer => ({
  kind: 'whole',
  status,
  headers,
  bytes: Buffer.from(JSON.stringify({ error })),
  usage: undefined,
});

/** Milliseconds; `retry-after-ms` counts before `retry-after`, which is seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(headers: Headers): number | undefined {
  const exact = headers.get('retry-after-ms');
  if (exact !== null && /^\d+(?:\.\d+)?$/.test(exact)) return Number(exact);
  const given = headers.get('retry-after');
  if (given === null) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(given)) return Number(given) * 1000;
  const at = Date.parse(given);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** Answers up to here are read at once. */
const SMALL_BYTES = 65_536;

/** Reads a whole answer; `onChunk` is called for each chunk. Throws AttemptFailure if it is too large. */
export function readWhole(response: Response, onChunk: () => void): Promise<Uint8Array> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
  if (length <= SMALL_BYTES || response.body === null) return response.bytes();
  return readChunks(response.body, onChunk);
}

async function readChunks(body: ReadableStream<Uint8Array>, onChunk: () => void): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    onChunk();
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw nonsense(new Error('the answer is too large'));
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Media types have no case (RFC 9110, 8.3.1). */
export const isEventStream = (response: Response): boolean =>
  /^text\/event-stream\s*(?:;|$)/i.test(response.headers.get('content-type') ?? '');
