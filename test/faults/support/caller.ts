// Requests of clients that expect the worst: each ends in time, and an answer that never came is told from a bad one.

import { type Caller, requestOf } from '../../acceptance/support/caller.ts';
import { eventually } from '../../support/child.ts';

/** The connection broke, or nothing came in time: whether the request took effect is open. */
export class LostAnswer extends Error {
  constructor(request: string, cause: unknown) {
    super(`no answer to ${request}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    this.name = 'LostAnswer';
  }
}

/** Bun's `fetch` sends these again by itself where a connection that it had kept closes before the answer. */
const SENT_AGAIN = new Set(['DELETE', 'PUT']);

/** A caller of the service at `url`, which sends each request once; rejects with LostAnswer. */
export function createPlainCaller(url: string, timeoutMs = 30_000): Caller {
  return async (method, path, options = {}) => {
    const { body, query } = options;
    const search = query === undefined ? '' : `?${new URLSearchParams(query as Record<string, string>)}`;
    const request: RequestInit = {
      ...requestOf(method, options),
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(timeoutMs),
      keepalive: !SENT_AGAIN.has(method),
    };
    return answered(`${method} ${path}`, async () => {
      const response = await fetch(`${url}${path}${search}`, request);
      return { status: response.status, headers: response.headers, text: await response.text() };
    });
  };
}

/** Asks again what is refused with 503, as a starved machine does before anything has been struck. */
export const asksAgain =
  (call: Caller): Caller =>
  (method, path, options) =>
    eventually(`${method} ${path}`, async () => {
      const answer = await call(method, path, options);
      return answer.status !== 503 && answer;
    });

/** Lets what breaks off on the way count as a lost answer. */
export async function answered<Value>(request: string, run: () => Promise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    throw new LostAnswer(request, error);
  }
}
