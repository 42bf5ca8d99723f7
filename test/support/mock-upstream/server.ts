// The mock's process: `bun test/support/mock-upstream/server.ts` prints where it listens.

import { messages } from './anthropic.ts';
import { fastAnswer } from './fast.ts';
import { createLedger } from './ledger.ts';
import { chat, completions, openAiError } from './openai-chat.ts';
import { embeddings, findModel, images, inputCount, modelList } from './openai-others.ts';
import { play } from './play.ts';
import { release } from './releases.ts';
import { parseScenario, type Scenario } from './scenario.ts';
import { type Body, isBody, type Wire } from './wire.ts';

const ledger = createLedger();
let answered = 0;
/** The faults that keys meet at the moment, whatever their requests ask for. */
const struck = new Map<string, string>();

const WIRES: [path: string, wire: Wire][] = [
  ['/chat/completions', chat],
  ['/completions', completions],
  ['/embeddings', embeddings],
  ['/images/generations', images],
  ['/messages', messages],
];

const DEPLOYMENT = /^\/openai\/deployments\/([^/]+)\//;

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT'] ?? 0),
  idleTimeout: 0,
  maxRequestBodySize: 1024 ** 3,
  async fetch(request) {
    const start = request.url.indexOf('/', 8);
    const end = request.url.indexOf('?', start);
    const path = end === -1 ? request.url.slice(start) : request.url.slice(start, end);
    if (path.startsWith('/mock/')) return control(request, path);
    if (request.method === 'GET') return models(path);
    const wire = WIRES.find(([ending]) => path.endsWith(ending))?.[1];
    if (wire === undefined) return Response.json(openAiError(404, `no route ${path}`), { status: 404 });
    const text = await request.text();
    const fast = fastAnswer(text);
    if (fast === undefined) return answer(request, { path, wire, text });
    ledger.countOnly();
    return fast;
  },
});

/** What providers send beside the answer. */
const headersOf = (): Record<string, string> => ({
  'x-request-id': `req_${++answered}`,
  'openai-processing-ms': '3',
  'openai-version': '2020-10-01',
  'openai-organization': 'org-mock',
  'x-ratelimit-limit-requests': '10000',
  'x-ratelimit-remaining-requests': '9999',
  'set-cookie': '__cf_bm=mock; path=/',
});

async function answer(request: Request, { path, wire, text }: { path: string; wire: Wire; text: string }) {
  const body = parse(text);
  if (body === undefined)
    return Response.json(wire.error(400, 'We could not parse the JSON body of your request.'), {
      status: 400,
    });
  const deployment = DEPLOYMENT.exec(path)?.[1];
  const model = deployment === undefined ? String(body['model']) : decodeURIComponent(deployment);
  let scenario: Scenario;
  try {
    scenario = parseScenario(model, body['mock']);
    const fault = struck.get(scenario.key);
    if (fault !== undefined) scenario = { ...parseScenario(fault, undefined), key: scenario.key };
    if (scenario.fault === 'hang' && wire === embeddings && inputCount(body) <= scenario.over)
      scenario = { ...scenario, fault: 'ok' };
  } catch (error) {
    return Response.json(wire.error(404, String(error)), { status: 404, headers: headersOf() });
  }
  const seen = {
    method: request.method,
    path: pathWithQuery(request.url),
    headers: request.headers.toJSON(),
    body: text,
  };
  const entry = ledger.begin(scenario.key, seen, request.signal);
  if (entry.number > scenario.times) scenario = { ...scenario, fault: 'ok' };
  const refused = refusalOf(wire, { body, request, scenario, azure: deployment !== undefined });
  if (refused !== undefined) {
    entry.end();
    return Response.json(wire.error(refused.status, refused.message, refused.param), {
      status: refused.status,
      headers: headersOf(),
    });
  }
  const size = { words: scenario.words, mb: scenario.fault === 'big' ? scenario.mb : undefined };
  const stream = body['stream'] === true;
  return play(() => wire.reply(body, { model, ...size }), {
    scenario,
    entry,
    wire,
    stream,
    headers: headersOf(),
  });
}

type Asked = { body: Body; request: Request; scenario: Scenario; azure: boolean };

function refusalOf(wire: Wire, { body, request, scenario, azure }: Asked): ReturnType<Wire['refuse']> {
  if (azure && !request.url.includes('?api-version='))
    return { status: 404, message: 'Resource not found', param: null };
  if (azure && request.headers.get('api-key') === null)
    return { status: 401, message: 'Access denied due to missing api-key', param: null };
  if (wire === embeddings && inputCount(body) > scenario.batch)
    return { status: 400, message: `at most ${scenario.batch} inputs are allowed`, param: 'input' };
  return wire.refuse(body, request.headers);
}

function parse(text: string): Body | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isBody(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

const pathWithQuery = (url: string): string => url.slice(url.indexOf('/', 8));

function models(path: string): Response {
  if (path.endsWith('/models')) return Response.json(modelList(), { headers: headersOf() });
  const model = findModel(decodeURIComponent(path.slice(path.lastIndexOf('/') + 1)));
  return model === undefined
    ? Response.json(openAiError(404, 'The model does not exist', 'model'), { status: 404 })
    : Response.json(model, { headers: headersOf() });
}

function control(request: Request, path: string): Response {
  const { searchParams } = new URL(request.url);
  const key = searchParams.get('key');
  if (path === '/mock/strike' && key !== null) {
    const fault = searchParams.get('fault');
    if (fault === null) struck.delete(key);
    else struck.set(key, fault);
    return new Response(null, { status: 204 });
  }
  if (path === '/mock/release' && key !== null) {
    release(key);
    return new Response(null, { status: 204 });
  }
  if (path === '/mock/stolen') {
    ledger.countStolen();
    return Response.json({ stolen: true });
  }
  if (path === '/mock/state') return Response.json(key === null ? ledger.totals() : ledger.read(key));
  if (path !== '/mock/reset' || request.method !== 'POST') return new Response(null, { status: 404 });
  ledger.reset(key);
  return new Response(null, { status: 204 });
}

process.on('SIGTERM', () => process.exit(0));
console.log(`the upstream listens on http://127.0.0.1:${server.port}`);
