// Operations that another part of the service calls for a caller whose credential was checked: the same parameters, the same
// rights, the same work, without a connection.

import { toAuthor } from '../core/author.ts';
import { ValidationFailure } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { toResponse } from './boundary.ts';
import { authorize } from './credentials.ts';
import { NO_BYTES, type Route } from './operation.ts';
import { createRequestParser, type RequestParser } from './request.ts';

export type OperationCaller = { principal: Principal; requestId: string; signal: AbortSignal };

/** Values as they would be sent; the workspace is that of the caller. */
export type OperationInput = {
  path?: Record<string, string>;
  query?: Record<string, string | number | readonly string[] | undefined>;
  body?: unknown;
};

/**
 * The JSON that the operation answers. Throws ValidationFailure for input that the operation refuses, 403 where the caller lacks its
 * scope, and as the operation does; rejects with the signal's reason when that aborts before the answer.
 */
export type OperationCall = (caller: OperationCaller, input: OperationInput) => Promise<unknown>;

export function createOperationCall({ operation, handle, status }: Route): OperationCall {
  // Made when it is first needed: many operations of a service are never called in this way.
  let made: RequestParser | undefined;
  return async ({ principal, requestId, signal }, { path = {}, query = {}, body }) => {
    made ??= createRequestParser(operation);
    const parser = made;
    const target = toTarget(operation.path, { workspace_id: principal.workspaceId, ...path }, query);
    const parameters = parser.parameters(target);
    authorize(principal, operation, parameters.path['workspace_id']);
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
    const origin = { address: null, requestId };
    const result = await handle({
      path: parameters.path,
      query: parameters.query,
      body: parser.checked(body),
      bytes: NO_BYTES,
      principal,
      origin,
      author: toAuthor(principal, origin),
      request: new Request(`http://localhost${target}`, { method: operation.method, signal }),
      requestId,
    });
    return toResponse(result, status).json();
  };
}

function toTarget(
  pattern: string,
  path: Record<string, string>,
  query: NonNullable<OperationInput['query']>,
): string {
  const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, String(each)]),
  );
  return `${filled}?${new URLSearchParams(pairs)}`;
}
