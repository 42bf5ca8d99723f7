import { expect, test } from 'bun:test';
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
      const late = Bun.sleep(3 * SHUTDOWN_TIMEOUT_MS).then(() => 'still running');
      expect(await Promise.race([service.child.exited, late])).toBe(0);
      await waiting;
    } finally {
      store.resume();
      postgres.resume();
      await service[Symbol.asyncDispose]();
    }
  });
}
