// Holds answers against the service's own OpenAPI document: the status is one that the operation lists, and the
// body has exactly the documented shape.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type Exchange = {
  method: string;
  /** As it was sent, without host and query. */
  path: string;
  status: number;
  headers: Headers;
  text: string;
};

export type Contract = {
  /** Throws an Error that says what the document does not foresee. */
  hold(exchange: Exchange): void;
};

type Media = { schema?: unknown; example?: unknown };
type Response = { description: string; content?: Record<string, Media> };
export type DescribedOperation = {
  operationId: string;
  tags: string[];
  summary?: string;
  parameters?: { in: string; name: string; required?: boolean; schema: unknown }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
  security?: Record<string, string[]>[];
  'x-events'?: string[];
};
export type OpenApiDocument = {
  openapi: string;
  paths: Record<string, Record<string, DescribedOperation>>;
  components: { securitySchemes: Record<string, unknown>; schemas: Record<string, unknown> };
};

/** The document of the service at `url`. */
export const readDocument = async (url: string): Promise<OpenApiDocument> =>
  (await fetch(`${url}/docs/json`)).json() as Promise<OpenApiDocument>;

export type NamedOperation = {
  /** Method and path, as the interface's tables write them. */
  name: string;
  method: string;
  path: string;
  operation: DescribedOperation;
};

export const operationsOf = ({ paths }: OpenApiDocument): NamedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      return { name: `${method} ${path}`, method, path, operation };
    }),
  );

/** Whether a request without this header is invalid. */
export const requiresHeader = ({ parameters = [] }: DescribedOperation, header: string): boolean =>
  parameters.some((each) => each.in === 'header' && each.name === header && each.required === true);

const ROOT_ID = 'https://service.test/openapi';

export function createContract(document: OpenApiDocument): Contract {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(closed(document) as object, ROOT_ID);
  const find = createMatcher(document);
  const compiled = new Map<string, ValidateFunction>();

  const validatorOf = (pointer: readonly string[]): ValidateFunction => {
    const reference = `${ROOT_ID}#${pointer.map((part) => `/${escapePointer(part)}`).join('')}`;
    const validate = compiled.get(reference) ?? ajv.compile({ $ref: reference });
    compiled.set(reference, validate);
    return validate;
  };

  return {
    hold(exchange) {
      const { method, status, headers, text } = exchange;
      // Repeated slashes in front and one at the end make no difference to the service.
      const path = exchange.path.replace(/^\/+/, '/').replace(/(?<=.)\/$/, '');
      // The description does not describe itself.
      if (path === '/docs' || path.startsWith('/docs/')) return;
      const found = find(method, path);
      if (Array.isArray(found)) return holdUnmatched(exchange, found);
      const refuse = (reason: string): never => {
        throw new Error(
          `${method} ${exchange.path} (${found.operation.operationId}) → ${status}: ${reason}\n${text.slice(0, 2000)}`,
        );
      };
      if (headers.get('x-request-id') === null) refuse('has no request id');
      const response = found.operation.responses[status] ?? refuse('the document does not list this status');
      if (response.content === undefined) {
        if (text !== '') refuse('the document lists no body');
        return;
      }
      const mediaType = headers.get('content-type')?.split(';')[0] ?? '';
      if (response.content[mediaType] === undefined) refuse(`the document does not list ${mediaType}`);
      if (mediaType !== 'application/json') return;
      const place = [
        'paths',
        found.template,
        method.toLowerCase(),
        'responses',
        String(status),
        'content',
        mediaType,
      ];
      const validate = validatorOf([...place, 'schema']);
      if (!validate(JSON.parse(text))) refuse(ajv.errorsText(validate.errors));
    },
  };
}

/** Begin of the gateway's paths, below which there is nothing of the documents, and of parts of OpenAI's API that there are not. */
const GATEWAY = /^(?:\/v1)?\/(?:chat|completions|embeddings|images|models|vector_stores)(?:\/|$)/;
const OPENAI = new RegExp(
  '^(?:/v1)?/(?:assistants|audio|batches|files|fine_tuning|messages|moderations|rerank|responses|threads|uploads)' +
    '(?:/|$)',
);

/** Pages of the portal, which are for browsers and not in the document. */
const PORTAL_PAGE = /^\/admin(?:\/[^/]*)?\/?$/;

/** Whether a path is text as a database can hold it. */
function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
}

/** Paths that are not in the document are unknown (404), or known under the other methods that `Allow` lists (405). */
function holdUnmatched(exchange: Exchange, otherMethods: readonly string[]): void {
  const { method, path, status, headers, text } = exchange;
  if (GATEWAY.test(path) || OPENAI.test(path) || (otherMethods.length === 0 && /^\/v1(?:\/|$)/.test(path))) {
    holdUnmatchedModels(exchange);
    return;
  }
  const refuse = (reason: string): never => {
    throw new Error(`${method} ${path} → ${status}: ${reason}\n${text.slice(0, 2000)}`);
  };
  // Where the administration's operations begin there is no page, but the pages' path allows no other method there.
  const isApi = /^\/admin\/api\/?$/.test(path);
  if (PORTAL_PAGE.test(path) && !(isApi && (method === 'GET' || status !== 405))) {
    const statuses = isText(path) ? [200, 404, 405] : [404, 405, 422];
    if (!statuses.includes(status)) refuse(`expected one of ${statuses} of a page of the portal`);
    return;
  }
  const expected = otherMethods.length === 0 ? 404 : 405;
  if (status !== expected) refuse(`expected ${expected}, as the document does not list the operation`);
  const sentence = expected === 404 ? 'Not Found' : 'Method Not Allowed';
  if (method !== 'HEAD' && text !== JSON.stringify({ detail: sentence }))
    refuse(`expected the detail ${sentence}`);
  const allowed = (headers.get('allow') ?? '').split(', ').sort().join();
  if (expected === 405 && allowed !== [...otherMethods].sort().join()) refuse(`Allow lists ${allowed}`);
}

/** OpenAI's error tells an unknown URL from a method that is not allowed. */
function holdUnmatchedModels({ method, path, status, text }: Exchange): void {
  const { error } = JSON.parse(text) as { error?: Record<string, unknown> };
  const code = { 404: 'unknown_url', 405: 'method_not_allowed' }[status];
  if (code === undefined || error?.['code'] !== code)
    throw new Error(`${method} ${path} → ${status}: expected an error of OpenAI's shape\n${text}`);
}

type Found = { template: string; operation: DescribedOperation };

/** Finds the operation of a request; else the methods that its path has. The most literal path wins, as in routers. */
function createMatcher(document: OpenApiDocument): (method: string, path: string) => Found | string[] {
  const templates = Object.entries(document.paths)
    .map(([template, operations]) => ({
      template,
      operations,
      pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      placeholders: template.split('{').length - 1,
    }))
    .sort((one, other) => one.placeholders - other.placeholders);
  return (method, path) => {
    // No workspace has the name of a part of the gateway.
    const matching = templates.filter(
      ({ template, pattern }) =>
        pattern.test(path) && !(GATEWAY.test(path) && /^(?:\/v1)?\/\{/.test(template)),
    );
    for (const { template, operations } of matching) {
      const operation = operations[method.toLowerCase()];
      if (operation !== undefined) return { template, operation };
    }
    return [
      ...new Set(
        matching.flatMap(({ operations }) => Object.keys(operations).map((verb) => verb.toUpperCase())),
      ),
    ];
  };
}

const escapePointer = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** The document with every object schema closed: an answer with a field that is not described fails. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]));
  const open =
    copy['type'] === 'object' && typeof copy['properties'] === 'object' && !('additionalProperties' in copy);
  return open ? { ...copy, additionalProperties: false } : copy;
}
