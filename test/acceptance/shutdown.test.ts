// Ending: what runs is finished, what is new is refused, nothing is left behind.

import { describe, expect, test } from 'bun:test';
import { createChatClient, eventsOf } from '../support/chat-client.ts';
import { eventually, startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { startGateway } from '../support/gateway.ts';
import { WORKSPACE } from '../support/service.ts';
import { createCaller } from './support/caller.ts';
import type { DocumentRecord } from './support/library.ts';
import { startSetting } from './support/setting.ts';
import { startUnconfigured } from './support/starts.ts';

/** Until the service has begun with so many requests, beside the one that asks. */
const requestsToRun = (url: string, count: number): Promise<unknown> =>
  eventually(`${count} requests to run`, async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^atrium_requests_running (\d+)$/m.exec(metrics)?.[1]) > count;
  });

describe('told to end', () => {
  test('the service finishes what runs, refuses what is new, and exits with 0', async () => {
    const setting = await startSetting();
    const { service, url, adminKey } = setting;
    await using _ = service;
    const { id } = await setting.admin.stored();
    const rest = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"summary":'));
        await rest.promise;
        controller.enqueue(new TextEncoder().encode('"finished"}'));
        controller.close();
      },
    });
    const running = fetch(`${url}/v1/metadata/${setting.workspace}/${id}`, {
      method: 'PUT',
      headers: { APIKeyHeader: adminKey, 'content-type': 'application/json' },
      body,
    });
    await requestsToRun(url, 1);
    service.child.kill('SIGTERM');
    const statusOf = (path: string, headers = {}) =>
      fetch(url + path, { headers, keepalive: false }).then(
        ({ status }) => status,
        () => 'refused' as const,
      );
    await eventually('readyz to turn', async () => ['refused', 503].includes(await statusOf('/readyz')));
    expect(['refused', 503]).toContain(
      await statusOf(`/v1/${setting.workspace}/trash`, { APIKeyHeader: adminKey }),
    );
    rest.resolve();
    const answer = await running;
    expect([answer.status, ((await answer.json()) as DocumentRecord).summary]).toEqual([200, 'finished']);
    expect(await service.child.exited).toBe(0);
    expect(await statusOf('/healthz')).toBe('refused');
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s while idle it exits with 0 and leaves no process behind',
    async (signal) => {
      const dataDir = freshFolder();
      await using service = await startUnconfigured(dataDir);
      service.child.kill(signal);
      expect(await service.child.exited).toBe(0);
      const processes = startChild(['ps', '-eo', 'args=']);
      await processes.exited;
      expect(
        processes
          .output()
          .split('\n')
          .filter((line) => line.includes(dataDir)),
      ).toEqual([]);
    },
  );

  test('for SHUTDOWN_DELAY_MS it serves everything, and /readyz says that it ends', async () => {
    // Longer than all that is asked here takes; then it is killed.
    const setting = await startSetting({ SHUTDOWN_DELAY_MS: '600000' });
    await using service = setting.service;
    service.child.kill('SIGTERM');
    const statusOf = (path: string) => setting.call('GET', path).then(({ status }) => status);
    await eventually('readyz to turn', async () => (await statusOf('/readyz')) === 503);
    expect(await setting.admin.stored()).toMatchObject({ status: 'private' });
    expect(await statusOf('/compute?n=10')).toBe(200);
    expect(await statusOf('/healthz')).toBe(200);
    service.child.kill('SIGKILL');
  });

  test('a request that hangs does not hold it longer than SHUTDOWN_DELAY_MS and SHUTDOWN_TIMEOUT_MS', async () => {
    const setting = await startSetting({ SHUTDOWN_DELAY_MS: '100', SHUTDOWN_TIMEOUT_MS: '1000' });
    await using service = setting.service;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
    });
    const hanging = fetch(`${setting.url}/v1/${setting.workspace}/upload/confirm`, {
      method: 'POST',
      headers: { APIKeyHeader: setting.adminKey, 'content-type': 'application/json' },
      body,
    }).then(
      ({ status }) => status,
      () => 'cut',
    );
    await requestsToRun(setting.url, 1);
    service.child.kill('SIGTERM');
    expect(await service.child.exited).toBe(0);
    expect(await hanging).toBe(503);
  });

  test('until the last request is over it answers probes: alive, and not ready', async () => {
    // Longer than all that is asked here takes; then it is killed.
    const setting = await startSetting({ SHUTDOWN_TIMEOUT_MS: '600000' });
    await using service = setting.service;
    const running = fetch(`${setting.url}/compute?n=50`).then(({ status }) => status);
    const statusOf = (path: string, headers = {}) =>
      fetch(setting.url + path, { headers, keepalive: false }).then(({ status }) => status);
    await requestsToRun(setting.url, 1);
    expect(await statusOf('/readyz')).toBe(200);
    service.child.kill('SIGTERM');
    await eventually('readyz to turn', async () => (await statusOf('/readyz')) === 503);
    expect(await statusOf('/healthz')).toBe(200);
    const readiness = await fetch(`${setting.url}/readyz`);
    expect(await readiness.json()).toMatchObject({
      status: 'unavailable',
      services: { postgres: { state: 'ready' } },
    });
    expect(await (await fetch(`${setting.url}/`)).json()).toMatchObject({ status: 'ending' });
    const { workspace, adminKey } = setting;
    expect(await statusOf(`/v1/${workspace}/trash`, { APIKeyHeader: adminKey })).toBe(503);
    service.child.kill('SIGKILL');
    await running.catch(() => undefined);
  });
});

describe('at the end of its time', () => {
  const MODELS = ['hang', 'hang-mid'];
  const ENDING = 'The service is shutting down';

  test('each stream ends with its error event, and each waiting request is answered 503', async () => {
    await using gateway = await startGateway(
      (mockUrl) => ({
        upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
        models: Object.fromEntries(
          MODELS.map((model) => [model, { endpoints: ['chat'], targets: [{ upstream: 'mock', model }] }]),
        ),
      }),
      { SHUTDOWN_TIMEOUT_MS: '3000' },
    );
    const { url, key, service } = gateway;
    const chat = createChatClient(createCaller(url), { workspace: WORKSPACE, key });
    for (const model of MODELS) {
      const agent = { name: model, kind: 'persona', model, instructions: '' };
      expect((await chat.putAgent(model, agent)).status).toBe(200);
      const session = { channel_session_id: model, persona_id: 1, agi_id: model };
      expect((await chat.createSession(session)).status).toBe(200);
    }
    const ask = (model: string, stream: boolean) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'a b c d e f' }] }),
      }).then(async (response) => ({ status: response.status, text: await response.text() }));
    const completions = [ask('hang', false), ask('hang', true), ask('hang-mid', true)];
    const answers = [
      chat.send('hang', 'first'),
      chat.send('hang', 'second, which waits for its turn'),
      chat.send('hang-mid', 'one two three four', { stream: true }),
      chat.send('hang-mid', 'five, which waits for its turn', { stream: true }),
    ];
    const settled = Promise.all([Promise.all(completions), Promise.all(answers)]);
    await requestsToRun(url, completions.length + answers.length);
    await eventually('all to be asked', async () => {
      const [hang, mid] = await Promise.all(MODELS.map((model) => gateway.mock.state(model)));
      return hang?.requests === 3 && mid?.requests === 2;
    });
    service.child.kill('SIGTERM');
    const [[whole, unbegun, begun], [waiting, inLine, streamed, streamInLine]] = await settled;
    expect(await service.child.exited).toBe(0);

    expect(whole?.status).toBe(503);
    expect(JSON.parse(whole?.text ?? '')).toMatchObject({ error: { message: ENDING, type: 'server_error' } });
    for (const stream of [unbegun, begun]) {
      if (stream?.status === 503) continue;
      const last = stream?.text.trim().split('\n\n').at(-1)?.replace('data: ', '') ?? '';
      expect(JSON.parse(last)).toMatchObject({ error: { message: ENDING } });
      expect(stream?.text).not.toContain('[DONE]');
    }
    expect(begun?.status).toBe(200);
    for (const answer of [waiting, inLine]) {
      expect(answer?.status).toBe(503);
      expect(JSON.parse(answer?.text ?? '')).toEqual({ detail: ENDING });
    }
    for (const answer of [streamed, streamInLine]) {
      expect(answer?.status).toBe(200);
      const [first, last] = [eventsOf(answer?.text ?? '').at(0), eventsOf(answer?.text ?? '').at(-1)];
      expect(first).toMatchObject({ type: 'start' });
      expect(last).toEqual({ type: 'error', error_msg: ENDING, status: 503 });
    }
  });
});
