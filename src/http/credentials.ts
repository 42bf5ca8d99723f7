// How each kind of credential travels. What a key is worth is the access area's to say.

import { forbidden, unauthenticated, ValidationFailure } from '../core/errors.ts';
import type { Principal, Scope } from '../core/principal.ts';
import type { CredentialKind, Operation, Route } from './operation.ts';
import { explainForeign } from './provenance.ts';
import type { Parameters } from './request.ts';
import { missing } from './validation.ts';

/**
 * Key text → its principal, from a cache where it can; undefined for unknown, expired or revoked keys. `tolerant`: a key
 * that was good before the database went away will do.
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
  /** Who calls a model of their workspace without a key from this machine, where that is allowed. */
  anonymous?: Principal | undefined;
};

const API_KEY_HEADER = 'APIKeyHeader';
const SERVICE_KEY_HEADER = 'svc-key';

export type CredentialSpec = {
  /** OpenAPI security requirement: any one of these schemes. */
  schemes: readonly string[];
  /** The OpenAPI header parameter that the interface declares for it, if it does. */
  header?: string;
};

export const CREDENTIALS: Record<CredentialKind, CredentialSpec> = {
  'api-key-header': { schemes: [API_KEY_HEADER], header: API_KEY_HEADER },
  'svc-key': { schemes: ['ServiceKey'], header: SERVICE_KEY_HEADER },
  administration: { schemes: [API_KEY_HEADER, 'Bearer', 'PortalCookie'] },
  metrics: { schemes: ['AuthorizationParameter', 'Bearer', API_KEY_HEADER] },
  models: { schemes: ['Bearer', API_KEY_HEADER] },
  'key-or-token': { schemes: ['Bearer'], header: 'authorization' },
  none: { schemes: [] },
};

/** The OpenAPI security schemes named above. */
export const SECURITY_SCHEMES = {
  APIKeyHeader: { type: 'apiKey', in: 'header', name: API_KEY_HEADER },
  ServiceKey: { type: 'apiKey', in: 'header', name: SERVICE_KEY_HEADER },
  Bearer: { type: 'http', scheme: 'bearer' },
  AuthorizationParameter: { type: 'apiKey', in: 'query', name: 'authorization' },
  PortalCookie: { type: 'apiKey', in: 'cookie', name: 'atrium_session' },
} as const;

const invalidKey = () => unauthenticated('The API key is unknown, expired or revoked');

/**
 * The principal of a request.
 * Throws 401 for a credential that is not valid (or absent, where the interface requires no header) and
 * ValidationFailure, together with the other mistakes, where a required header is absent.
 */
export function identify(
  request: Request,
  {
    operation: { credential: kind, outlastsDatabase },
    verifyToken,
  }: Pick<Route, 'operation' | 'verifyToken'>,
  { authenticators, parameters }: { authenticators: Authenticators; parameters: Parameters },
): Principal | Promise<Principal> {
  if (kind === 'key-or-token') {
    const text = requireAuthorization(request, parameters);
    if (verifyToken === undefined || !SIGNED_TOKEN.test(text)) return resolve(authenticators.key(text));
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
    return verifyToken(text, parameters.path);
  }
  const required = CREDENTIALS[kind].header;
  const header = request.headers.get(required ?? API_KEY_HEADER);
  if (header !== null) return resolve(authenticators.key(header, outlastsDatabase));
  if (required !== undefined) {
    throw new ValidationFailure([...parameters.entries, missing(['header', required], null)]);
  }
  if (kind === 'metrics')
    return resolve(authenticators.key(metricsKey(request, parameters), outlastsDatabase));
  const authorization = request.headers.get('authorization');
  if (kind === 'models' && authorization === null)
    return withoutKey(request, parameters, authenticators.anonymous);
  const bearer = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  if (bearer !== undefined) return resolve(authenticators.key(bearer, outlastsDatabase));
  if (kind === 'models') throw invalidKey();
  return authenticators.session(request).then((principal) => {
    if (principal === undefined) throw unauthenticated('An API key is required');
    return principal;
  });
}

/** Throws 401 for a request that does not come from this machine, and for another workspace than the caller's. */
function withoutKey(
  request: Request,
  { path: { workspace_id: workspaceId } }: Parameters,
  anonymous: Principal | undefined,
): Principal {
  if (anonymous === undefined || (workspaceId !== undefined && workspaceId !== anonymous.workspaceId)) {
    throw unauthenticated('An API key is required: Authorization: Bearer …');
  }
  const reason = explainForeign(request);
  if (reason === undefined) return anonymous;
  throw unauthenticated(
    `An API key is required: Authorization: Bearer …; without one, the request must ${reason}`,
  );
}

/** The parameter `authorization`, else the header: the key, with or without `Bearer`. Throws 401 without either. */
function metricsKey(request: Request, { query }: Parameters): string {
  const given = query['authorization'] ?? request.headers.get('authorization');
  const key = typeof given === 'string' ? given.trim().replace(/^Bearer +/i, '') : '';
  if (key === '') throw unauthenticated('An API key is required');
  return key;
}

/** A JSON object and two more parts in base64url (RFC 7515, 3.1), the last of which may be absent; keys do not look so. */
const SIGNED_TOKEN = /^e[w-z][\w-]*\.[\w-]*\.[\w-]*$/;

/** The header `authorization`, with or without `Bearer`. Throws ValidationFailure where it is absent. */
function requireAuthorization(request: Request, parameters: Parameters): string {
  const header = request.headers.get('authorization');
  if (header !== null) return header.trim().replace(/^Bearer +/i, '');
  throw new ValidationFailure([...parameters.entries, missing(['header', 'authorization'], null)]);
}

function resolve(found: ReturnType<Authenticate>): Principal | Promise<Principal> {
  if (found instanceof Promise) return found.then(accepted);
  return accepted(found);
}

function accepted(principal: Principal | undefined): Principal {
  if (principal === undefined) throw invalidKey();
  return principal;
}

/** Throws 403 when the caller lacks the operation's scope or asks for another workspace than the key's. */
export function authorize(principal: Principal, operation: Operation, workspaceId: unknown): void {
  const { scopes } = principal;
  const operator = operation.credential === 'administration' && scopes.has('operator');
  if (typeof workspaceId === 'string' && workspaceId !== principal.workspaceId && !operator) {
    throw forbidden('The API key belongs to another workspace');
  }
  if (operation.scope !== undefined && !hasScope(principal, operation.scope)) {
    throw forbidden(`The API key lacks the scope ${operation.scope}`);
  }
}

/** `operator` includes `admin`; no other scope includes another. */
const hasScope = (principal: Principal, scope: Scope): boolean =>
  principal.scopes.has(scope) || (scope === 'admin' && principal.scopes.has('operator'));
