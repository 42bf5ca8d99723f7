// Requests to every operation of the OpenAPI document, most of them malformed: without a key, with mistakes in path, query and body, by
// other methods. The same document gives the same requests.

import { request as open } from 'node:http';

export type Document = { paths: Record<string, Record<string, DescribedOperation>> };
type Parameter = { in: string; name: string };
type DescribedOperation = {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema?: Schema; example?: unknown }> };
  security?: Record<string, unknown>[];
};
type Schema = { $ref?: string; properties?: Record<string, Schema> };

export type Sent = {
  name: string;
  method: string;
  target: string;
  headers: Record<string, string>;
  body?: string;
};

const VALUES: Record<string, string> = {
  workspace_id: 'acme',
  file_id: '00000000-0000-4000-8000-000000000000',
  document: 'nothing.txt',
  chat_session_id: '999999',
  message_id: '999999',
};

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** Answers of these depend on the machine or on time, end a session, or remove what others need. */
const LEFT_OUT =
  /^(?:metrics\.retrieve|health\.|service\.|admin\.(?:status|settings)|compute\.|mcp\.)|\.rotate|sign-on/;

/** `key`: one with every scope. */
export function* requestsOf(document: Document, key: string): Generator<Sent> {
  // In an order that does not follow the order of the document: what a request changes, later ones see.
  const paths = Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [path, operations] of paths)
    for (const method of METHODS) {
      const operation = operations[method];
      if (operation === undefined) yield otherMethod(path, method, operations, key);
      else if (!LEFT_OUT.test(operation.operationId)) yield* variants({ path, method, operation, key });
    }
}

const fill = (path: string, values: Record<string, string> = {}): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? VALUES[name] ?? 'nothing');

function otherMethod(path: string, method: string, operations: object, key: string): Sent {
  const [first] = Object.keys(operations);
  return {
    name: `${first} ${path} by ${method}`,
    method: method.toUpperCase(),
    target: fill(path),
    headers: { APIKeyHeader: key },
  };
}

function* variants(of: {
  path: string;
  method: string;
  operation: DescribedOperation;
  key: string;
}): Generator<Sent> {
  const { path, operation, key } = of;
  const method = of.method.toUpperCase();
  const name = operation.operationId;
  const sendsBody = operation.requestBody !== undefined;
  const schemes = (operation.security ?? []).flatMap((each) => Object.keys(each));
  const keyed = (value: string): Record<string, string> =>
    schemes.includes('ServiceKey')
      ? { 'svc-key': value }
      : schemes.includes('APIKeyHeader')
        ? { APIKeyHeader: value }
        : { authorization: `Bearer ${value}` };
  const json = { ...keyed(key), 'content-type': 'application/json' };
  const good = {
    method,
    target: fill(path),
    headers: sendsBody ? json : keyed(key),
    ...(sendsBody ? { body: '{}' } : {}),
  };
  yield { ...good, name: `${name} plain` };
  yield {
    ...good,
    name: `${name} without a key`,
    headers: sendsBody ? { 'content-type': 'application/json' } : {},
  };
  yield { ...good, name: `${name} with another key`, headers: { ...good.headers, ...keyed('wrong') } };
  yield { ...good, name: `${name} with a slash behind`, target: `${good.target}/` };
  yield { ...good, name: `${name} with an unknown parameter`, target: `${good.target}?unknown=1` };
  yield { ...good, name: `${name} with a broken query`, target: `${good.target}?%ff=1&a=%zz&&=` };
  for (const [, placeholder = ''] of path.matchAll(/\{(\w+)\}/g)) {
    for (const value of ['%ff', '%00', 'other', '%2e%2e', 'a%2Fb'])
      yield {
        ...good,
        name: `${name} ${placeholder}=${value}`,
        target: fill(path, { [placeholder]: value }),
      };
  }
  for (const parameter of operation.parameters ?? []) {
    if (parameter.in !== 'query') continue;
    for (const query of ['=', '=x', '=-1', '=1e3', '=%ff', '=a:b:c', '=1&{}=2'])
      yield {
        ...good,
        name: `${name} ${parameter.name}${query}`,
        target: `${good.target}?${parameter.name}${query.replace('{}', parameter.name)}`,
      };
  }
  if (sendsBody) yield* bodies(good, name, operation);
}

const BODIES = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '1',
  '{"a":1}',
  '\u00ff{',
  '{"a":"\\u0000"}',
  `${'['.repeat(100)}${']'.repeat(100)}`,
];

function* bodies(
  good: Omit<Sent, 'name'>,
  name: string,
  { requestBody }: DescribedOperation,
): Generator<Sent> {
  for (const body of BODIES) yield { ...good, name: `${name} body ${body.slice(0, 20)}`, body };
  for (const type of ['text/plain', 'application/JSON; charset=utf-8', 'multipart/form-data'])
    yield { ...good, name: `${name} as ${type}`, headers: { ...good.headers, 'content-type': type } };
  const example = requestBody?.content['application/json']?.example;
  if (typeof example !== 'object' || example === null) return;
  for (const member of Object.keys(example).slice(0, 6)) {
    for (const wrong of [1.5, null, {}, [1], 'x'])
      yield {
        ...good,
        name: `${name} ${member}: ${JSON.stringify(wrong)}`,
        body: JSON.stringify({ ...example, [member]: wrong }),
      };
    const { [member as keyof typeof example]: _left, ...rest } = example;
    yield { ...good, name: `${name} without ${member}`, body: JSON.stringify(rest) };
  }
}

export type Answer = { status: number; headers: Record<string, string>; body: string };

const HEADERS = [
  'content-type',
  'www-authenticate',
  'allow',
  'retry-after',
  'vary',
  'cache-control',
  'location',
];

/** Sends the target as it stands: other clients would change it. */
export function send(url: string, { method, target, headers, body }: Sent): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    // Each has a connection of its own, so that none meets what another one left unread.
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      hostname,
      port,
      method,
      path: target,
      headers: { ...headers, ...length },
      agent: false,
    };
    const sent = open(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            HEADERS.flatMap((name) =>
              response.headers[name] === undefined ? [] : [[name, String(response.headers[name])]],
            ),
          ),
          body: steady(Buffer.concat(chunks).toString('utf8')),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The text without what differs from run to run: ids, times, keys and signatures. */
const steady = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, '<time>')
    .replaceAll(/\d{8}T\d{6}Z|\d{8}\/us-east-1/g, '<day>')
    .replaceAll(/atr_\w+/g, '<key>')
    .replaceAll(/"last_used_at":(?:null|"<time>")/g, '"last_used_at":"<time or null>"')
    .replaceAll(/"(?:policy|signature|x-amz-signature|fields|url)":"[^"]*"/g, '"<signed>"')
    .replaceAll(/X-Amz-Signature=\w+/g, '<signature>')
    .replaceAll(/127\.0\.0\.1:\d+/g, '<address>')
    .replaceAll(/"created":\d+/g, '"created":0')
    .replaceAll(/"id":"(?:chatcmpl|cmpl)-[\w-]+"/g, '"id":"<id>"')
    .replaceAll(/[\w-]{60,}={0,2}/g, '<long>');
