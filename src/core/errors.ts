// The kinds of refusal that all areas share. The public sentence stands apart from the cause:
// a boundary renders the sentence, the log keeps the cause.

export type ErrorKind =
  | 'malformed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'gone'
  | 'request-timeout'
  | 'too-large'
  | 'unsupported-media-type'
  | 'too-many-requests'
  | 'not-implemented'
  | 'upstream-failed'
  | 'upstream-timeout'
  | 'unavailable';

export type RefusalOptions = {
  cause?: unknown;
  retryAfterSeconds?: number | undefined;
  /** Values of the header `Set-Cookie` of the answer. */
  setCookies?: readonly string[];
};

/** A refusal whose `message` may be shown to the caller as it stands. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  /** Seconds after which a retry makes sense; sent as `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  readonly setCookies: readonly string[];

  constructor(
    kind: ErrorKind,
    sentence: string,
    { cause, retryAfterSeconds, setCookies = [] }: RefusalOptions = {},
  ) {
    super(sentence, { cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.retryAfterSeconds = retryAfterSeconds;
    this.setCookies = setCookies;
  }
}

const refusal =
  (kind: ErrorKind) =>
  (sentence: string, options: RefusalOptions = {}): ServiceError =>
    new ServiceError(kind, sentence, options);

/** The request is not of a form that the service has defined. */
export const malformed = refusal('malformed');
export const unauthenticated = refusal('unauthenticated');
export const forbidden = refusal('forbidden');
export const notFound = refusal('not-found');
export const conflict = refusal('conflict');
/** It was there, and will not come back. */
export const gone = refusal('gone');
/** The request did not arrive whole in time; its connection is closed after the answer. */
export const requestTimeout = refusal('request-timeout');
export const tooLarge = refusal('too-large');
export const unsupportedMediaType = refusal('unsupported-media-type');
export const tooManyRequests = refusal('too-many-requests');
/** The upstream refused, hung up, or gave an answer that makes no sense. The sentence names no host. */
export const upstreamFailed = refusal('upstream-failed');
export const upstreamTimeout = refusal('upstream-timeout');

/** A backing service is down or slow. The sentence names the capability, never the host. */
export const unavailable = (sentence: string, options: { cause?: unknown } = {}) =>
  new ServiceError('unavailable', sentence, { ...options, retryAfterSeconds: 2 });

/** One entry of a 422 body, as FastAPI and pydantic v2 write it. */
export type ValidationEntry = {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
};

/** A request that fails validation: rendered as 422 with every entry. */
export class ValidationFailure extends Error {
  readonly entries: readonly ValidationEntry[];

  constructor(entries: readonly ValidationEntry[]) {
    super(entries.map((entry) => `${entry.loc.join('.')}: ${entry.msg}`).join('; '));
    this.name = 'ValidationFailure';
    this.entries = entries;
  }
}

/** The violation of a rule that no schema can express, in pydantic's form for such rules. */
export const valueError = (loc: (string | number)[], reason: string, input: unknown): ValidationFailure =>
  new ValidationFailure([
    { type: 'value_error', loc, msg: `Value error, ${reason}`, input, ctx: { error: reason } },
  ]);

/** The code of an error of the system, a driver or a library; `''` where there is none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** The reason of a failure in one line: the message of the error, and those of its causes that add something. */
export function explain(error: unknown): string {
  const said: string[] = [];
  const visit = (each: unknown, depth: number): void => {
    if (depth > CAUSES_MAX) return;
    const named = each instanceof Error && !MEANINGLESS_NAMES.has(each.name);
    const sentence = each instanceof Error && !named ? each.message : String(each);
    const line = sentence.replaceAll(/\s+/g, ' ').trim();
    const parts: unknown[] = each instanceof AggregateError && each.message === '' ? each.errors : [];
    if (parts.length === 0 && line !== '' && !said.some((earlier) => earlier.includes(line))) said.push(line);
    for (const part of parts) visit(part, depth + 1);
    if (each instanceof Error && each.cause !== undefined) visit(each.cause, depth + 1);
  };
  visit(error, 0);
  return said.join(': ');
}

/** Names that add nothing to the message; `fetch` throws a TypeError for a refused connection. */
const MEANINGLESS_NAMES: ReadonlySet<string> = new Set(['Error', 'ServiceError', 'TypeError']);

/** Causes may form a cycle. */
const CAUSES_MAX = 4;
