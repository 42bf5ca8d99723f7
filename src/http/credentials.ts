// Where each kind of credential is sent. The access area verifies the keys.

import { forbidden, unauthenticated, ValidationFailure } from '../core/errors.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { missing } from './mistakes.ts';
import { explainForeign } from './provenance.ts';
import type { CredentialKind, Operation } from './routes.ts';
import type { Parameters } from './url.ts';

/**
 * Key text → its principal, without a promise where it is cached; undefined for unknown, expired or revoked keys.
 * `tolerant`: during an outage of the database, a key that was valid before is accepted.
 */
export type Authenticate = (
  key: string,
  tolerant?: boolean,
) => Principal | undefined | Promise<Principal | undefined>;

/** Portal cookie → its principal, likewise. `request` is checked for cross-site use. */
export type AuthenticateSession = (request: Request) => Promise<Principal | undefined>;

export type Authenticators = {
  key: Authenticate;
  session: AuthenticateSession;
  /** The principal of calls of models without a key from this machine, where they are allowed. */
  anonymous?: Principal | undefined;
};

const API_KEY_HEADER = 'APIKeyHeader';
const SERVICE_KEY_HEADER = 'svc-key';
/** Where the official clients of Anthropic and Azure send a key. */
const COMPATIBLE_HEADERS = ['x-api-key', 'api-key'] as const;

export type CredentialSpec = {
  /** OpenAPI security requirement: any one of these schemes. */
  schemes: readonly (keyof typeof SECURITY_SCHEMES)[];
  /** The OpenAPI header parameter that the interface declares for it, if it does. */
  header?: string;
  /** The place of the key, as it follows “Needs a key …, ”; absent where none is needed. */
  place?: string;
};

export const CREDENTIALS: Record<CredentialKind, CredentialSpec> = {
  'api-key-header': {
    schemes: [API_KEY_HEADER, 'Bearer'],
    header: API_KEY_HEADER,
    place: `in the header \`${API_KEY_HEADER}\` or, where that is absent, as \`Authorization: Bearer …\``,
  },
  'svc-key': {
    schemes: ['ServiceKey', 'Bearer'],
    header: SERVICE_KEY_HEADER,
    place: `in the header \`${SERVICE_KEY_HEADER}\` or, where that is absent, as \`Authorization: Bearer …\``,
  },
  administration: {
    schemes: [API_KEY_HEADER, 'Bearer', 'PortalCookie'],
    place: `in the header \`${API_KEY_HEADER}\` or as \`Authorization: Bearer …\`, or the cookie of the portal`,
  },
  key: {
    schemes: ['Bearer', API_KEY_HEADER],
    place: `in the header \`${API_KEY_HEADER}\` or as \`Authorization: Bearer …\``,
  },
  portal: { schemes: ['PortalCookie'], place: 'the cookie of the portal' },
  metrics: {
    schemes: ['AuthorizationParameter', 'Bearer', API_KEY_HEADER],
    place: `in the query parameter \`authorization\`, as \`Authorization: Bearer …\` or in the header \`${API_KEY_HEADER}\``,
  },
  models: {
    schemes: ['Bearer', API_KEY_HEADER, 'XApiKey', 'ApiKey'],
    place: `as \`Authorization: Bearer …\` or in the header \`${API_KEY_HEADER}\`, \`x-api-key\` or \`api-key\`; a service that is tried out on its own machine may ask for none`,
  },
  'key-or-token': {
    schemes: ['Bearer'],
    header: 'authorization',
    place: 'or a signed token of the chat platform, in the header `authorization`, with or without `Bearer `',
  },
  none: { schemes: [] },
};

/** The OpenAPI security schemes named above. */
export const SECURITY_SCHEMES = {
  APIKeyHeader: { type: 'apiKey', in: 'header', name: API_KEY_HEADER },
  ServiceKey: { type: 'apiKey', in: 'header', name: SERVICE_KEY_HEADER },
  XApiKey: { type: 'apiKey', in: 'header', name: COMPATIBLE_HEADERS[0] },
  ApiKey: { type: 'apiKey', in: 'header', name: COMPATIBLE_HEADERS[1] },
  Bearer: { type: 'http', scheme: 'bearer' },
  AuthorizationParameter: { type: 'apiKey', in: 'query', name: 'authorization' },
  PortalCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'atrium_session',
    description: 'The cookie of the portal. Over https its name is `__Host-atrium_session`.',
  },
} as const;

/**
 * The challenges of a 401 (RFC 9110, 11.6.1): one for each header in which the operation accepts a key. No scheme is
 * registered for a key in its own header; `ApiKey` names that header. Sign-in has its key in the body, and answers Bearer.
 */
const CHALLENGES = Object.fromEntries(
  Object.entries(CREDENTIALS).map(([kind, { schemes }]) => [kind, toChallenge(schemes)]),
) as Record<CredentialKind, string>;

export const challengeOf = (kind: CredentialKind): string => CHALLENGES[kind];

function toChallenge(schemes: CredentialSpec['schemes']): string {
  const known = schemes.map((name) => SECURITY_SCHEMES[name]);
  const headers = known.flatMap((scheme) =>
    scheme.type === 'apiKey' && scheme.in === 'header' ? [scheme.name] : [],
  );
  const acceptsBearer = headers.length === 0 || known.some(({ type }) => type === 'http');
  return [
    ...(acceptsBearer ? ['Bearer realm="atrium"'] : []),
    ...headers.map((name) => `ApiKey realm="atrium", header="${name}"`),
  ].join(', ');
}

const bearerRequired = (more = '') =>
  unauthenticated(`An API key is required: Authorization: Bearer …${more}`);

/**
 * The principal of a request.
 * Throws 401 for a credential that is not valid (or absent, where the interface requires no header) and
 * ValidationFailure, together with the other mistakes, where a required header is absent.
 */
export async function identify(
  request: Request,
  {
    credential: kind,
    allowsStaleAuthentication,
    verifyToken,
  }: Pick<Operation, 'credential' | 'allowsStaleAuthentication' | 'verifyToken'>,
  { authenticators, parameters }: { authenticators: Authenticators; parameters: Parameters },
): Promise<Principal> {
  if (kind === 'key-or-token') {
    const text = requireAuthorization(request, parameters);
    if (verifyToken === undefined || !SIGNED_TOKEN.test(text))
      return accepted(await authenticators.key(text), 'header authorization');
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
    return verifyToken(text, parameters.path);
  }
  if (kind === 'portal') return sessionOf(request, authenticators);
  const sent = kind === 'metrics' ? metricsKey(request, parameters) : keyOf(request, kind);
  if (sent !== undefined)
    return accepted(await authenticators.key(sent.key, allowsStaleAuthentication), sent.place);
  const required = CREDENTIALS[kind].header;
  if (required !== undefined)
    throw new ValidationFailure([...parameters.entries, missing(['header', required], null)]);
  if (kind === 'metrics') throw bearerRequired(', or the parameter authorization');
  if (kind === 'models') {
    if (request.headers.has('authorization')) throw bearerRequired();
    return withoutKey(request, parameters, authenticators.anonymous);
  }
  if (kind === 'key') throw bearerRequired(`, or ${API_KEY_HEADER}: …`);
  return sessionOf(request, authenticators);
}

/** `place`: where the key was sent, for the message of the refusal. */
function accepted(principal: Principal | undefined, place: string): Principal {
  if (principal === undefined)
    throw unauthenticated(`The API key in the ${place} is unknown, expired or revoked`);
  return principal;
}

/** Throws 401 for a request without a session of the portal. */
async function sessionOf(request: Request, { session }: Authenticators): Promise<Principal> {
  const principal = await session(request);
  if (principal === undefined) throw bearerRequired(`, or ${API_KEY_HEADER}: …`);
  return principal;
}

/** Throws 401 for a request that does not come from this machine, and for another workspace than the caller's. */
function withoutKey(
  request: Request,
  { path: { workspace_id: workspaceId } }: Parameters,
  anonymous: Principal | undefined,
): Principal {
  if (anonymous === undefined || (workspaceId !== undefined && workspaceId !== anonymous.workspaceId))
    throw bearerRequired();
  const reason = explainForeign(request);
  if (reason === undefined) return anonymous;
  throw bearerRequired(`; without one, the request must ${reason}`);
}

type SentKey = { key: string; place: string };

/** The key of the header that the interface names, else that of another one that the operation accepts; undefined without any. */
function keyOf({ headers }: Request, kind: CredentialKind): SentKey | undefined {
  const inHeader = (name: string): SentKey | undefined => {
    const key = headers.get(name);
    return key === null ? undefined : { key, place: `header ${name}` };
  };
  const named = inHeader(CREDENTIALS[kind].header ?? API_KEY_HEADER);
  if (named !== undefined) return named;
  const bearer = /^Bearer(?: +(.*))?$/i.exec(headers.get('authorization') ?? '');
  if (bearer !== null) return { key: bearer[1] ?? '', place: 'header Authorization' };
  if (kind !== 'models' || headers.has('authorization')) return undefined;
  return inHeader(COMPATIBLE_HEADERS[0]) ?? inHeader(COMPATIBLE_HEADERS[1]);
}

/** The parameter `authorization`, else the header: the key, with or without `Bearer`. Else that of the header for keys. */
function metricsKey(request: Request, { query }: Parameters): SentKey | undefined {
  const parameter = query['authorization'];
  const given = parameter ?? request.headers.get('authorization');
  if (typeof given !== 'string') return keyOf(request, 'metrics');
  const key = given.trim().replace(/^Bearer +/i, '');
  return key === ''
    ? undefined
    : { key, place: `${parameter === undefined ? 'header' : 'parameter'} authorization` };
}

/** The form of a JSON Web Token (RFC 7515, 3.1), of which the last part may be absent; no key has it. */
const SIGNED_TOKEN = /^e[w-z][\w-]*\.[\w-]*\.[\w-]*$/;

/** The header `authorization`, with or without `Bearer`. Throws ValidationFailure where it is absent. */
function requireAuthorization(request: Request, parameters: Parameters): string {
  const header = request.headers.get('authorization');
  if (header !== null) return header.trim().replace(/^Bearer +/i, '');
  throw new ValidationFailure([...parameters.entries, missing(['header', 'authorization'], null)]);
}

/** Throws 403 when the caller lacks the operation's scope or asks for another workspace than the key's. */
export function authorize(
  principal: Principal,
  operation: Pick<Operation, 'credential' | 'scope'>,
  workspaceId: unknown,
): void {
  const { scopes } = principal;
  const operator = operation.credential === 'administration' && scopes.has('operator');
  if (typeof workspaceId === 'string' && workspaceId !== principal.workspaceId && !operator)
    throw forbidden('The API key belongs to another workspace');
  if (operation.scope !== undefined && !hasScope(principal, operation.scope))
    throw forbidden(`The API key lacks the scope ${operation.scope}`);
}

/** `operator` includes `admin`; no other scope includes another. */
const hasScope = (principal: Principal, scope: Scope): boolean =>
  principal.scopes.has(scope) || (scope === 'admin' && principal.scopes.has('operator'));
