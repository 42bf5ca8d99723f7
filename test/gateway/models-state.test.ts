// The catalogue as it runs, for administrators: its targets with the state of their circuits, and the mistake of a models
// file that was refused.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { send } from './faults/ask.ts';

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: {
    mock: {
      base_url: `${mockUrl}/v1`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the file names variables so.
      api_key: '${UPSTREAM_KEY}',
      headers: { 'x-team': 'team-secret' },
      retries: 0,
    },
  },
  models: {
    good: {
      targets: [{ upstream: 'mock', model: 'ok', weight: 3 }],
      price: { input_per_million: 1, output_per_million: 2 },
      fallbacks: ['bad'],
      cache: { ttl_seconds: 0 },
      description: 'It answers.',
    },
    bad: { targets: [{ upstream: 'mock', model: 'status-500' }] },
  },
  defaults: { chat: 'good' },
});

const gateway = await shared(startGateway(modelsFile));

type State = {
  source: string;
  file: string | null;
  read_at: string | null;
  mistake: { message: string; line: number | null; at: string } | null;
  models: { id: string; targets: { target: string; weight: number }[] }[];
  targets: {
    target: string;
    base_url: string | null;
    latency_ms: number | null;
    circuit: { state: string; since: string };
    last_failure: { at: string; kind: string; reason: string; status: number | null } | null;
    attempts: Record<string, number>;
  }[];
};

const read = (key = gateway.key): Promise<Response> =>
  fetch(`${gateway.url}/admin/api/models`, { headers: { authorization: `Bearer ${key}` } });
const state = async (): Promise<State> => (await (await read()).json()) as State;
const targetOf = async (name: string) => (await state()).targets.find(({ target }) => target === name);

const newKey = async (scopes: string[]): Promise<string> => {
  const response = await fetch(`${gateway.url}/admin/api/workspaces/${WORKSPACE}/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: scopes.join(), scopes, user_email: 'person@example.com' }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { key: string }).key;
};

const call = async (model: string): Promise<void> => {
  await (await send({ url: gateway.url, key: gateway.key, model, stream: false })).text();
};

test('the catalogue is shown as it runs, with prices and fallbacks, and nothing secret of an upstream', async () => {
  const response = await read();
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(text).not.toContain(UPSTREAM_KEY);
  expect(text).not.toContain('team-secret');
  const { source, read_at: readAt, mistake, models } = JSON.parse(text) as State;
  expect({ source, mistake }).toEqual({ source: 'file', mistake: null });
  expect(Date.parse(readAt ?? '')).toBeLessThanOrEqual(Date.now() + 1000);
  expect(models[0]).toMatchObject({
    id: 'good',
    description: 'It answers.',
    endpoints: ['chat', 'completions'],
    strategy: 'weighted',
    price: { input_per_million: 1, output_per_million: 2 },
    cache_ttl_seconds: 0,
    fallbacks: ['bad'],
    default_of: ['chat', 'completions'],
    targets: [{ target: 'mock/ok', weight: 3 }],
  });
});

test('a target has the state of its circuit, since when, its latency, and the kind of its last failure', async () => {
  await call('good');
  expect(await targetOf('mock/ok')).toMatchObject({
    circuit: { state: 'closed' },
    last_failure: null,
    latency_ms: expect.any(Number),
    base_url: `${gateway.mock.url}/v1`,
  });
  const before = Date.now();
  for (let times = 0; times < 5; times++) await call('bad');
  const failed = await targetOf('mock/status-500');
  expect(failed).toMatchObject({
    circuit: { state: 'open' },
    last_failure: { kind: 'upstream-failed', status: 500 },
    attempts: { failed: 0, refused: 5 },
  });
  // The two clocks are one, read twice: a second is far more than they differ by.
  expect(Date.parse(failed?.circuit.since ?? '')).toBeGreaterThanOrEqual(before - 1000);
  expect(Date.parse(failed?.last_failure?.at ?? '')).toBeGreaterThanOrEqual(before - 1000);
});

test('a models file with a mistake is shown with its line, and the models that were known go on', async () => {
  gateway.writeModels(
    'upstreams:\n  mock: {base_url: "http://127.0.0.1:1"}\nmodels:\n  good: {targets: 5}\n',
  );
  gateway.service.child.kill('SIGHUP');
  const { mistake, models } = await eventually('the mistake', async () => {
    const found = await state();
    return found.mistake === null ? undefined : found;
  });
  expect(mistake).toMatchObject({ line: 4 });
  expect(mistake?.message).toContain('models.good.targets must be a list');
  const { mistake: ofAdministrator } = (await (await read(await newKey(['admin']))).json()) as State;
  expect(ofAdministrator).toMatchObject({
    message: 'line 4: models.good.targets must be a list',
    line: 4,
  });
  // Callers without a key read the state of the service.
  const readiness = await (await fetch(`${gateway.url}/readyz`)).text();
  expect(readiness).toContain('models.good.targets must be a list');
  expect(readiness).not.toContain('MODELS_CONFIG');
  expect(models.map(({ id }) => id)).toContain('good');
  gateway.writeModels(modelsFile(gateway.mock.url));
  gateway.service.child.kill('SIGHUP');
  await eventually('the file to be read again', async () => (await state()).mistake === null);
});

test('administrators of a workspace see no address of an upstream, and other keys nothing', async () => {
  const response = await read(await newKey(['admin']));
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(text).not.toContain(gateway.mock.url);
  expect((JSON.parse(text) as State).targets[0]).toMatchObject({ target: 'mock/ok', base_url: null });
  expect((await read(await newKey(['models']))).status).toBe(403);
});
