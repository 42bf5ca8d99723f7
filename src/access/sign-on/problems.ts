// Why a sign-in at the provider did not succeed, as the person and as the log is told, and the page on which it ends.

import { codeOf, type ErrorKind, ServiceError } from '../../core/errors.ts';

/** Status and sentence of each problem. The portal has the sentences in each language, by the same names. */
export const PROBLEMS = {
  unavailable: [503, 'The provider does not answer at the moment. Try again in a minute.'],
  database: [503, 'The service cannot reach its database at the moment. Try again in a minute.'],
  expired: [400, 'This sign-in has taken too long, or has been used already. Begin again.'],
  cancelled: [403, 'The sign-in was cancelled at the provider.'],
  refused: [502, 'The provider has refused the sign-in. The log of this service says why.'],
  untrusted: [502, 'The answer of the provider does not fit this sign-in. The log of this service says why.'],
  'no-email': [403, 'The provider does not name a verified e-mail address of yours.'],
  'no-access': [403, 'None of your groups at the provider opens a workspace here. Ask an administrator.'],
  disabled: [403, 'An administrator has disabled your sign-in.'],
  'other-person': [403, 'Your e-mail address belongs to another person here. Ask an administrator.'],
  'too-many': [429, 'You have signed in too often. Try again in a minute.'],
  'still-signed-in': [
    503,
    'You are signed out here, but the provider does not answer: you may be signed in there.',
  ],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

export type ProblemName = keyof typeof PROBLEMS;

/** A sign-in that does not succeed, for a reason that the person can be told. */
export class SignOnProblem extends Error {
  readonly problem: ProblemName;

  constructor(problem: ProblemName, options?: ErrorOptions) {
    super(PROBLEMS[problem][1], options);
    this.problem = problem;
  }
}

/** The problem behind an error of the exchange with the provider. */
export function toProblem(error: unknown): ProblemName {
  if (error instanceof SignOnProblem) return error.problem;
  if (error instanceof ServiceError) return KINDS.get(error.kind) ?? 'unavailable';
  const { error: code, status } = membersOf(error);
  if (code !== undefined) return CODES.get(code) ?? (Number(status) >= 500 ? 'unavailable' : 'refused');
  return isNetworkFailure(error) ? 'unavailable' : 'untrusted';
}

const KINDS = new Map<ErrorKind, ProblemName>([
  ['unauthenticated', 'expired'],
  ['too-many-requests', 'too-many'],
]);

/** Error codes of RFC 6749, 4.1.2.1 and 5.2; all others are mistakes of the set-up. */
const CODES = new Map<string, ProblemName>([
  ['access_denied', 'cancelled'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
  ['invalid_grant', 'expired'],
]);

const NETWORK_CODES = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'ConnectionRefused',
  'ConnectionClosed',
  'FailedToOpenSocket',
]);

function isNetworkFailure(error: unknown): boolean {
  const { cause } = membersOf(error);
  if (NETWORK_CODES.has(codeOf(error)) || /^E[A-Z_]{4,}$/.test(codeOf(error))) return true;
  if (cause instanceof Response) return cause.status >= 500 || cause.status === 429;
  return cause instanceof Error && isNetworkFailure(cause);
}

type Members = { error?: string; error_description?: unknown; status?: unknown; cause?: unknown };

const membersOf = (error: unknown): Members => (error instanceof Error ? (error as Members) : {});

const DESCRIPTION_LENGTH_MAX = 200;

/** The error for the log: messages, codes, and the name of the claim that differs, but neither parameters nor tokens. */
export function describeFailure(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 3) return '';
  const { error: code, error_description: description, cause } = membersOf(error);
  const { claim, attribute } = (cause ?? {}) as { claim?: unknown; attribute?: unknown };
  return [
    error.message,
    codeOf(error),
    code,
    typeof description === 'string' ? description.slice(0, DESCRIPTION_LENGTH_MAX) : '',
    claim,
    attribute,
    cause instanceof Response ? `status ${cause.status}` : describeFailure(cause, depth + 1),
  ]
    .filter((part) => typeof part === 'string' && part !== '')
    .join(': ');
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * A page between the provider and the portal, which goes on to `to` by itself. It is no redirect: the browser counts one as a
 * part of the provider's navigation, and sends no `SameSite=Strict` cookie with it. `to` and `sentence` are our own text.
 */
export function renderReturnPage(
  { status, to, sentence }: { status: number; to: string; sentence: string },
  headers: Record<string, string> = {},
): Response {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0;url=${to}">
<title>Atrium</title>
</head>
<body><p>${sentence}</p><p><a href="${to}">Continue</a></p></body>
</html>
`;
  return new Response(page, { status, headers: { ...HEADERS, ...headers } });
}
