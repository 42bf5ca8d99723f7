// The kinds of refusal that every area speaks. The public sentence stands apart from the cause:
// a boundary renders the sentence, the log keeps the cause.

export type ErrorKind =
  | 'malformed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'request-timeout'
  | 'too-large'
  | 'unsupported-media-type'
  | 'too-many-requests'
  | 'not-implemented'
  | 'upstream-failed'
  | 'upstream-timeout'
  | 'unavailable';

/** A refusal whose `message` may be shown to the caller as it stands. */
export class ServiceError extends Error {
  readonly kind: ErrorKind;
  /** Seconds after which a retry makes sense; sent as `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: ErrorKind,
    sentence: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(sentence, { cause: options.cause });
    this.name = 'ServiceError';
    this.kind = kind;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

type Cause = { cause?: unknown };

/** What was sent is not of a form that we have given out. */
export const malformed = (sentence: string) => new ServiceError('malformed', sentence);
export const unauthenticated = (sentence: string, options: Cause = {}) =>
  new ServiceError('unauthenticated', sentence, options);
export const forbidden = (sentence: string, options: Cause = {}) =>
  new ServiceError('forbidden', sentence, options);
export const notFound = (sentence: string, options: Cause = {}) =>
  new ServiceError('not-found', sentence, options);
export const conflict = (sentence: string, options: Cause = {}) =>
  new ServiceError('conflict', sentence, options);
/** The request did not arrive whole in time; its connection is closed after the answer. */
export const requestTimeout = (sentence: string, options: Cause = {}) =>
  new ServiceError('request-timeout', sentence, options);
export const tooLarge = (sentence: string, options: Cause = {}) =>
  new ServiceError('too-large', sentence, options);
export const unsupportedMediaType = (sentence: string) =>
  new ServiceError('unsupported-media-type', sentence);

export const tooManyRequests = (sentence: string, options: Cause & { retryAfterSeconds?: number } = {}) =>
  new ServiceError('too-many-requests', sentence, options);
/** What we asked on the caller's behalf refused, hung up, or answered nonsense. The sentence names no host. */
export const upstreamFailed = (sentence: string, options: Cause = {}) =>
  new ServiceError('upstream-failed', sentence, options);
export const upstreamTimeout = (sentence: string, options: Cause = {}) =>
  new ServiceError('upstream-timeout', sentence, options);

/** A backing service is down or slow. The sentence names the capability, never the host. */
export const unavailable = (sentence: string, options: Cause = {}) =>
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

/** A rule that no schema can say, in pydantic's form for such rules. */
export function valueError(loc: (string | number)[], reason: string, input: unknown): ValidationFailure {
  return new ValidationFailure([
    { type: 'value_error', loc, msg: `Value error, ${reason}`, input, ctx: { error: reason } },
  ]);
}

/** Why something failed, in one line: what the error says, and what its causes say beyond that. */
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

/** Names that tell nothing; TypeError is what `fetch` calls a refused connection. */
const MEANINGLESS_NAMES: ReadonlySet<string> = new Set(['Error', 'ServiceError', 'TypeError']);

/** Causes may go round. */
const CAUSES_MAX = 4;
