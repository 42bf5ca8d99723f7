// Calls from inside, such as those of tools and of the command line: requests to the same application on behalf of a caller whose
// credential was checked, so that the same rules hold for them.

import { ServiceError, toError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { Principal } from '../core/principal.ts';
import type { RouteTable } from './routes.ts';
import { onBehalfOf, stateOf } from './state.ts';

export type InnerCaller = { principal: Principal; requestId?: string; signal?: AbortSignal };

/** Values as they would be sent; the workspace is the caller's where the path does not name one. */
export type InnerInput = {
  path?: Record<string, string>;
  query?: Record<string, string | number | readonly string[] | undefined>;
  body?: unknown;
};

/** The JSON that the operation answers; undefined for an answer without a body. Throws as the operation does. */
export type InnerCall = (operationId: string, caller: InnerCaller, input: InnerInput) => Promise<unknown>;

type InnerApp = { handle(request: Request): Response | Promise<Response>; table: RouteTable };

export const createInnerCalls =
  ({ handle, table }: InnerApp): InnerCall =>
  async (operationId, { principal, requestId, signal }, { path = {}, query = {}, body }) => {
    const operation = table.operations().find(({ id }) => id === operationId);
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
    const target = toTarget(operation.path, { workspace_id: principal.workspaceId, ...path }, query);
    const request = new Request(`http://localhost${target}`, {
      method: operation.method,
      signal: signal ?? null,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    try {
      const response = await handle(onBehalfOf(principal, request, { requestId }));
      if (response.status >= 400) throw failureOf(request, response);
      const text = await response.text();
      return text === '' ? undefined : parseJson(text);
    } finally {
      stateOf(request).leave();
    }
  };

/** The operation's own error, which says more than its answer. */
function failureOf(request: Request, { status }: Response): Error {
  const { failure } = stateOf(request);
  return failure === undefined
    ? new ServiceError('malformed', `The call answered ${status}`)
    : toError(failure);
}

function toTarget(
  pattern: string,
  path: Record<string, string>,
  query: NonNullable<InnerInput['query']>,
): string {
  const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, String(each)]),
  );
  return `${filled}?${new URLSearchParams(pairs)}`;
}
