// Every operation that the service describes, asked once, all at the same time.

import { createContract, operationsOf, readDocument } from '../../acceptance/support/contract.ts';
import { createPlainCaller } from './caller.ts';
import type { Refusable } from './refusals.ts';

export type Visit = Refusable & { operationId: string; path: string };

export type Endpoints = {
  /** Each answer came within `withinMs` and is one that the description lists. Rejects otherwise. */
  visitAll(options: { key: string; parameters: Record<string, string>; withinMs: number }): Promise<Visit[]>;
};

type Request = {
  method: string;
  template: string;
  operationId: string;
  /** That the operation says it needs. */
  headers: readonly string[];
  json: unknown;
};

/** Parameters that only a number can be. */
const NUMBERED = /^(chat_session|message)_id$/;

/** Its default is half a second of work for a thread that a busy machine gives little. */
const QUERIES: Record<string, Record<string, string>> = { 'compute.fibonacci': { n: '1' } };

/** Reads the description while all is well. */
export async function readEndpoints(url: string): Promise<Endpoints> {
  const document = await readDocument(url);
  const contract = createContract(document);
  const requests = operationsOf(document).map(({ method, path, operation }): Request => {
    const { operationId, parameters = [], requestBody } = operation;
    const json = requestBody?.content['application/json']?.example;
    const headers = parameters.filter((each) => each.in === 'header').map(({ name }) => name);
    return { method, template: path, operationId, headers, json };
  });
  return {
    visitAll({ key, parameters, withinMs }) {
      const call = createPlainCaller(url, withinMs);
      return Promise.all(
        requests.map(async ({ method, template, operationId, headers: names, json }) => {
          const path = template.replaceAll(
            /\{(\w+)\}/g,
            (_, name) => parameters[name] ?? (NUMBERED.test(name) ? '1' : crypto.randomUUID()),
          );
          const headers = Object.fromEntries(names.map((name) => [name, key]));
          const query = QUERIES[operationId] ?? {};
          const answer = await call(method, path, {
            key,
            headers,
            query,
            ...(json === undefined ? {} : { json }),
          });
          contract.hold({ method, path, ...answer });
          return { operationId, path, ...answer };
        }),
      );
    },
  };
}
