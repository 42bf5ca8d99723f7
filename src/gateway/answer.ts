// The result of an attempt: an answer to forward, or a failure that says which attempts may follow.

import { isObject, type JsonObject } from '../core/json.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { EventBlock, StreamEvent } from './events.ts';
import { type Endpoint, isText } from './request.ts';
import type { TimeOuts } from './time-outs.ts';
import type { StreamMeter, Usage } from './usage.ts';

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
  /** The further ones. Throws when the upstream fails, also within an event. */
  blocks: AsyncGenerator<EventBlock, undefined>;
  /** Of a translated stream, whose own events say more than those that are made of them. */
  meter?: StreamMeter | undefined;
  /** Absent for a built-in model. */
  timeOuts?: TimeOuts;
  /** Ends the call of the upstream, once; `failure`: why the stream has failed in the middle. */
  end?(outcome: 'ok' | 'failed' | 'left', failure?: OpenAiRefusal): void;
};

export type Answer = WholeAnswer | StreamAnswer;

type FailureOptions = {
  /** The attempts that may follow: the same target again, only others, or none. */
  next: 'same' | 'others' | 'none';
  /** The upstream's own refusal, for the caller if nothing else helps. */
  answer?: WholeAnswer | undefined;
  retryAfterMs?: number | undefined;
  /** False where the upstream cannot have seen the request. */
  sent?: boolean;
  /** Whether the target is less well for it. */
  unwell?: boolean;
  /** The upstream's status, if the upstream caused the failure. */
  status?: number | undefined;
};

export class AttemptFailure extends Error {
  readonly refusal: OpenAiRefusal;
  readonly next: FailureOptions['next'];
  readonly answer: WholeAnswer | undefined;
  readonly retryAfterMs: number | undefined;
  readonly sent: boolean;
  readonly unwell: boolean;
  readonly status: number | undefined;

  constructor(refusal: OpenAiRefusal, options: FailureOptions) {
    super(refusal.message, { cause: refusal.cause });
    this.refusal = refusal;
    this.next = options.next;
    this.answer = options.answer;
    this.retryAfterMs = options.retryAfterMs;
    this.sent = options.sent ?? true;
    this.unwell = options.unwell ?? true;
    this.status = options.status;
  }

  /** Whether the target has no words for the request: then it is passed over. */
  get isUnable(): boolean {
    return this.refusal.kind === 'malformed';
  }

  /** Whether the upstream has refused the request as the caller's mistake. */
  get isCallersMistake(): boolean {
    return this.next === 'none' && this.answer !== undefined;
  }
}

export const upstreamFailed = (
  sentence: string,
  options: { cause?: unknown; code?: string } = {},
): OpenAiRefusal => new OpenAiRefusal('upstream-failed', sentence, options);

/** An answer that makes no sense: nothing of it goes on to the caller, or into the log. */
export function nonsense(error?: unknown): AttemptFailure {
  // The message of a SyntaxError quotes the text that could not be parsed.
  const cause = error instanceof SyntaxError ? new Error('the answer is not JSON') : error;
  return new AttemptFailure(upstreamFailed('The upstream returned an invalid response', { cause }), {
    next: 'same',
  });
}

const isTrue = (error: unknown): boolean =>
  typeof error === 'object' && error !== null ? Object.keys(error).length > 0 : Boolean(error);

export const isErrorObject = ({ error, object, type }: JsonObject): boolean =>
  isTrue(error) || object === 'error' || type === 'error';

/** Whether the JSON of a 2xx tells of a failure, or has nothing of an answer. */
export function isFailure(answer: JsonObject, endpoint: Endpoint): boolean {
  if (isErrorObject(answer)) return true;
  const parts = answer[isText(endpoint) ? 'choices' : 'data'];
  if (!Array.isArray(parts)) return true;
  return parts.length > 0 && parts.every((each) => isObject(each) && isTrue(each['error']));
}

/** Whether an event of a stream tells of a failure. Only the first one may also be no part of an answer. */
export function isFailedEvent({ name, chunk }: StreamEvent, isFirst: boolean): boolean {
  if (name === 'error') return true;
  // Data that is not JSON passes as it came.
  if (chunk === undefined) return false;
  if (isErrorObject(chunk)) return true;
  const { choices, type, usage } = chunk;
  if (!isFirst || type !== undefined) return false;
  return (
    choices === null || (choices === undefined && usage === undefined && SAYING.some((each) => chunk[each]))
  );
}

/** Members in which an error without the form of one says what is wrong. */
const SAYING = ['message', 'msg', 'detail', 'errors', 'error_description', 'reason', 'title'];
