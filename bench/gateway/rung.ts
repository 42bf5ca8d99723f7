// One rung of the ladder from the pass-through to the product: the product's own parts up to a step, and the floor's work for the rest.
// Arguments: rung, port, upstream, folder. Its parts that need other servers are given to it in memory.

import { join } from 'node:path';
import { Elysia } from 'elysia';
import { createAuthentication } from '../../src/access/authentication.ts';
import { listen } from '../../src/app.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createDeadlines } from '../../src/core/deadlines.ts';
import { createInterruption } from '../../src/core/interruption.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { Principal } from '../../src/core/principal.ts';
import { createLedger } from '../../src/gateway/accounting/ledger.ts';
import { createAllowances, type Reservation } from '../../src/gateway/allowances.ts';
import type { Answer } from '../../src/gateway/answer.ts';
import { createAnswerCache } from '../../src/gateway/cache.ts';
import { parseModelsFile } from '../../src/gateway/catalogue/file.ts';
import { createConnectProbe } from '../../src/gateway/connect-probe.ts';
import { type GatewayInput, respond, toModelCall } from '../../src/gateway/endpoints/forward.ts';
import { createExecute } from '../../src/gateway/execute.ts';
import type { ModelCall, Served } from '../../src/gateway/model-call.ts';
import { readRequest } from '../../src/gateway/request.ts';
import { createServe } from '../../src/gateway/serve.ts';
import { createTargets } from '../../src/gateway/targets.ts';
import type { Routes } from '../../src/http/area.ts';
import { bytes } from '../../src/http/input.ts';
import { serveRoutes } from '../../test/support/serve-routes.ts';
import { LIMITS, modelsFile, RUNGS, type Rung } from './rungs.ts';

const [name = '', port = '', upstream = '', folder = ''] = process.argv.slice(2);
/** Whether this rung has what the other one adds. */
const has = (other: Rung): boolean => RUNGS.indexOf(name as Rung) >= RUNGS.indexOf(other);

const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer floor' };
const ask = (body: Uint8Array | ArrayBuffer, signal?: AbortSignal): Promise<Response> =>
  fetch(`${upstream}/v1/chat/completions`, {
    method: 'POST',
    headers: HEADERS,
    body: body as ArrayBuffer,
    ...(signal === undefined ? {} : { signal }),
  });

/** The floor's own work, which hands on the body of the answer. */
async function pass(request: Request): Promise<Response> {
  const answer = await ask(await request.arrayBuffer(), request.signal);
  const headers = { 'content-type': answer.headers.get('content-type') ?? '' };
  if (!has('whole answer')) return new Response(answer.body, { status: answer.status, headers });
  return new Response(await answer.bytes(), { status: answer.status, headers });
}

const ignore = (): void => undefined;
const log = createLogger({ level: 'info', format: 'json' });
const { onInterrupt } = createInterruption();
const deadlines = createDeadlines();
const targets = createTargets();
const catalogue = targets.build(parseModelsFile(modelsFile(upstream), () => undefined));

const asked = async ({ request }: ModelCall): Promise<Served & { kind: 'whole' }> => {
  const answer = await ask(request.bytes);
  return { kind: 'whole', status: answer.status, headers: {}, bytes: await answer.bytes() };
};
/** No other request uses the key. */
const NOTHING_ELSEWHERE = {
  requestsMs: 0,
  tokensMs: 0,
  spent: 0,
  monthLeftMs: 86_400_000,
  month: new Date().getUTCFullYear() * 100 + new Date().getUTCMonth() + 1,
  elsewhere: { tokensMs: 0, cost: 0 },
};
const allowances = createAllowances({
  store: {
    share: async ({ told }) => new Map(told.map(({ keyId }) => [keyId, NOTHING_ELSEWHERE])),
    recover: async () => undefined,
    sweep: async () => undefined,
  },
  log,
});
const unlimited: Reservation = { headers: () => ({}), settle: ignore };
const ledger = createLedger({
  directory: join(folder, name.replaceAll(' ', '-')),
  record: async () => undefined,
  clock: systemClock,
  log,
});
const serve = createServe({
  catalogue: () => catalogue,
  allowances: has('limits') ? allowances : { reserve: () => unlimited },
  cache: createAnswerCache(),
  execute: has('attempt')
    ? createExecute({
        deadlines,
        connectProbe: createConnectProbe(),
        attempts: new Map(),
        logFailedAttempt: ignore,
        answerLocally: () => Promise.reject(new Error('no local model')),
      })
    : async (call): Promise<Answer> => ({ ...(await asked(call)), usage: undefined }),
  ledger: has('ledger') ? ledger : { add: ignore, requireRoom: ignore },
  firstToken: { observe: ignore },
  deadlines,
  onInterrupt,
});

const handle = (input: GatewayInput): Promise<Response> => {
  if (!has('body, cancelling')) return pass(input.request);
  return respond(input, onInterrupt, (signal) => {
    const { bytes } = input;
    if (!has('scan')) return asked({ request: { bytes } } as ModelCall);
    const call = toModelCall(input, { endpoint: 'chat', request: readRequest(bytes), signal });
    return has('call, account') ? serve(call) : asked(call);
  });
};

const authentication = createAuthentication({
  store: {
    findLive: async () => ({
      keyId: 'bench',
      workspaceId: 'bench',
      userId: 'bench',
      email: 'bench@example.com',
      scopes: ['models'],
      limits: LIMITS,
      predecessors: [],
      expiresAt: null,
      lastUsedAt: null,
    }),
  },
  informed: () => true,
  lastUses: { add: () => true },
  clock: systemClock,
});
/** What each rung adds to the route. */
const options = {
  ...(has('credential') ? { key: { in: 'models', scope: 'models', stale: true }, errors: 'openai' } : {}),
  ...(has('body, cancelling') ? { body: bytes({}, { bytesMax: 16_777_216, inflates: true }) } : {}),
};
const routes: Routes = ({ plugin }) =>
  new Elysia().use(plugin).post(
    '/v1/chat/completions',
    ({ request, body, state }) =>
      handle({
        request,
        bytes: body as Uint8Array,
        requestId: state.requestId,
        principal: state.caller as Principal,
        trace: state.trace,
        keepPermit: () => state.keepPermit(),
      }),
    options as never,
  );

const address = { port: Number(port), hostname: '127.0.0.1' };
if (name === 'floor') Bun.serve({ ...address, idleTimeout: 255, fetch: pass });
else if (!has('id, access line, metrics')) {
  const app = new Elysia().post('/v1/chat/completions', ({ request }) => pass(request), { parse: 'none' });
  Bun.serve({ ...address, idleTimeout: 255, fetch: app.fetch });
} else {
  const { fetch } = serveRoutes([routes], {
    open: has('credential') ? [] : ['/v1/chat/completions'],
    authenticators: () => ({ key: authentication.authenticate, session: async () => undefined }),
    log,
    access: log.access,
    onInterrupt,
  });
  listen(fetch, address);
}
if (has('limits')) await allowances.job.start();
if (has('ledger')) await ledger.job.start();
