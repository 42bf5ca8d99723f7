// Streams: a thousand at once, silent ones, and those that are under way when the models file changes.

import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { machineNow } from '../support/machine-time.ts';
import { shared } from '../support/shared.ts';
import { send } from './faults/ask.ts';

/** A stream that the test holds waits for as long as a busy machine needs. */
const PATIENCE_MS = 600_000;

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: {
    mock: { base_url: `${mockUrl}/v1`, timeout_ms: { idle: 40_000 } },
    patient: {
      base_url: `${mockUrl}/v1`,
      timeout_ms: { connect: PATIENCE_MS, first_byte: PATIENCE_MS, idle: PATIENCE_MS, total: PATIENCE_MS },
    },
  },
  models: {
    many: { targets: [{ upstream: 'patient', model: 'held-mid+words=30+key=many' }] },
    long: { targets: [{ upstream: 'patient', model: 'held-mid+words=30+key=long' }] },
    silent: { targets: [{ upstream: 'mock', model: 'hang-mid' }] },
  },
});

const gateway = await shared(startGateway(modelsFile));

/** The whole answer over a socket of its own: this process, too, has a limit of fetches at once. */
function streamOverSocket(model: string): Promise<string> {
  const { hostname, port, host } = new URL(gateway.url);
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'go' }] });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: ${host}`,
    `authorization: Bearer ${gateway.key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ];
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`));
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1');
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

test('a thousand slow streams run at once, and all are complete', async () => {
  const MANY = 1000;
  const { mock } = gateway;
  const streams = Array.from({ length: MANY }, () => streamOverSocket('many'));
  // None ends before all run: an answer that comes by then is a refusal, and says why.
  const refused = Promise.race(streams).then((answer) => {
    throw new Error(`one was refused: ${answer.slice(0, 1000)}`);
  });
  const running = eventually('all to run', async () => (await mock.state('many')).running === MANY);
  await Promise.race([running, refused]).finally(() => mock.release('many'));
  refused.catch(() => undefined);
  const answers = await Promise.all(streams);
  const whole = answers.filter((answer) => answer.includes('word29') && answer.includes('data: [DONE]'));
  expect(whole.length).toBe(MANY);
  const { requests, runningMax } = await mock.state('many');
  expect({ requests, runningMax }).toEqual({ requests: MANY, runningMax: MANY });
});

test('a silent upstream is covered by comments between the events', async () => {
  const { url, key } = gateway;
  const controller = new AbortController();
  // The silence begins after this.
  const startedAt = performance.now();
  const response = await send({ url, key, model: 'silent', stream: true, signal: controller.signal });
  let text = '';
  const begunAt = machineNow();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  while (!/\n\n:[^\n]*\n\n$/.test(text)) {
    const { value = '', done } = (await reader?.read()) ?? { done: true };
    if (done) break;
    text += value;
  }
  controller.abort();
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(12_000);
  // One that is left out would come after thirty.
  expect(machineNow() - begunAt).toBeLessThan(28_000);
  // Whoever reads it as events sees nothing of it.
  const events = text.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'));
  expect(events.length).toBeGreaterThan(0);
  for (const event of events) expect(event).toStartWith('data: {');
});

test('a reload drops no stream; a file with a mistake is refused, and what was goes on', async () => {
  const { url, key, mock, service, writeModels } = gateway;
  const listed = async (): Promise<string[]> => {
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const response = await send({ url, key, model: 'long', stream: true });
  const coming = response.text();

  const { upstreams, models } = modelsFile(mock.url);
  writeModels({ upstreams, models: { fresh: models['silent'] ?? {} } });
  service.child.kill('SIGHUP');
  await eventually('the new model', async () => (await listed()).includes('fresh'));
  expect(await listed()).not.toContain('long');
  expect((await send({ url, key, model: 'long', stream: true })).status).toBe(404);

  writeModels('upstreams: {}\nmodels:\n  broken:\n    targets: [{upstream: nobody, model: x}]\n');
  service.child.kill('SIGHUP');
  await eventually('the refusal in the log', () => /line 4[^\n]*nobody/.test(service.child.output()));
  expect(await listed()).toContain('fresh');

  await mock.release('long');
  const text = await coming;
  expect(text).toContain('word29');
  expect(text).toEndWith('data: [DONE]\n\n');
});
