// Requests as any client sends them; each answer is held against the interface's own description.

import { expect } from 'bun:test';
import { type Contract, createContract, readDocument } from './contract.ts';

export type Answer = { status: number; headers: Headers; text: string };

export type CallOptions = {
  /** Sent as `APIKeyHeader`. */
  key?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, with no content type unless `headers` give one. */
  body?: Uint8Array<ArrayBuffer> | undefined;
  query?: Record<string, string | number | boolean>;
};

export type Caller = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

const contracts = new Map<string, Promise<Contract>>();

/** The description that the service at `url` gives of itself, fetched once. */
function contractOf(url: string): Promise<Contract> {
  const known = contracts.get(url) ?? readDocument(url).then(createContract);
  contracts.set(url, known);
  return known;
}

/** What a request sends: the key in APIKeyHeader, and the value as JSON. */
export function requestOf(method: string, { key, headers, json }: CallOptions): RequestInit {
  return {
    method,
    headers: {
      ...(key === undefined ? {} : { APIKeyHeader: key }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  };
}

/** A caller of the service at `url`. It throws when an answer is not as the OpenAPI document says. */
export function createCaller(url: string): Caller {
  return async (method, path, options = {}) => {
    const { body, query } = options;
    const search = query === undefined ? '' : `?${new URLSearchParams(stringsOf(query))}`;
    const response = await fetch(`${url}${path}${search}`, {
      ...requestOf(method, options),
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
    });
    const answer = { status: response.status, headers: response.headers, text: await response.text() };
    // Bun's `fetch` sends one slash in place of several at the beginning.
    const sentPath = new URL(`${url}${path}`).pathname.replace(/^\/+/, '/');
    (await contractOf(url)).hold({ method, path: sentPath, ...answer });
    return answer;
  };
}

const stringsOf = (values: Record<string, string | number | boolean>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

/** The body of an answer that has the expected status; the contract has checked its shape. */
export function bodyOf<Body>(answer: Answer, status: number): Body {
  expect({ status: answer.status, text: answer.text }).toEqual({ status, text: expect.any(String) });
  return JSON.parse(answer.text) as Body;
}

/** Fails, and shows the body, unless the answer has the status. */
export function expectStatus(answer: Answer, status: number): void {
  expect(answer.status === status ? status : `${answer.status} ${answer.text}`).toBe(status);
}

/** Fails unless the answer is a refusal in one sentence. */
export function expectRefusal(answer: Answer, status: number): string {
  const { detail } = bodyOf<{ detail: unknown }>(answer, status);
  expect(detail).toBeString();
  expect(detail).not.toBe('');
  return detail as string;
}
