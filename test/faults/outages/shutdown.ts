import { expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { startService } from '../../support/service.ts';
import { createClient, type Setting } from '../support/setting.ts';

const SHUTDOWN_TIMEOUT_MS = 3000;

export function describeShutdown(setting: () => Setting): void {
  test('a service that is told to end does so in time, also while it waits for what does not answer', async () => {
    const { environment, postgres, store } = setting();
    const service = await startService({
      environment: { ...environment, SHUTDOWN_TIMEOUT_MS: `${SHUTDOWN_TIMEOUT_MS}` },
    });
    try {
      const { call, library } = createClient(service);
      const tempKey = await library.uploaded();
      postgres.pause();
      store.pause();
      const waiting = Promise.allSettled([
        library.confirm({ temp_key: tempKey, document_metadata: { name: 'waiting.txt' } }),
        library.detail('waiting.txt'),
      ]);
      // Answered: so the service has the two others in hand.
      await call('GET', '/healthz');
      service.child.kill('SIGTERM');
      let code: number | undefined;
      void service.child.exited.then((given) => {
        code = given;
      });
      await eventually('the end', () => code !== undefined, 3 * SHUTDOWN_TIMEOUT_MS);
      expect(code).toBe(0);
      await waiting;
    } finally {
      store.resume();
      postgres.resume();
      await service[Symbol.asyncDispose]();
    }
  });
}
