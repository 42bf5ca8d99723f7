// Ending: what runs is finished, what is new is refused, nothing is left behind.

import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { eventually, startChild } from '../support/child.ts';
import type { DocumentRecord } from './support/library.ts';
import { startSetting } from './support/setting.ts';
import { createFolders, startUnconfigured } from './support/starts.ts';

setDefaultTimeout(90_000);

const freshFolder = createFolders();

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
    // Sent after it and answered: the service has begun with the request above.
    for (let probe = 0; probe < 3; probe++) await fetch(`${url}/healthz`);
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

  test('a request that hangs does not hold it longer than SHUTDOWN_TIMEOUT_MS', async () => {
    const setting = await startSetting({ SHUTDOWN_TIMEOUT_MS: '1000' });
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
    service.child.kill('SIGTERM');
    expect(await service.child.exited).toBe(0);
    expect(['cut', 503]).toContain(await hanging);
  });
});
