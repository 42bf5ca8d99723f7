import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { md5 } from '../../acceptance/support/library.ts';
import { eventually } from '../../support/child.ts';
import { startService } from '../../support/service.ts';
import { expectRefusal } from '../support/refusals.ts';
import { becomesReady, confirmPatiently, createClient, download } from '../support/setting.ts';

export function describeEmbeddedPostgres(): void {
  test('an embedded database that is killed is started again, and the service goes on with it', async () => {
    await using service = await startService({ postgres: 'embedded' });
    const client = createClient(service);
    const { library } = client;
    const pidOf = (): number =>
      JSON.parse(readFileSync(join(service.dataDir, 'postgres/connection.json'), 'utf8')).pid;
    for (let round = 0; round < 2; round++) {
      const kept = await library.stored({}, 'kept');
      const pending = await library.uploaded('pending');
      const { key } = await client.people.newKey();
      const killed = pidOf();
      process.kill(killed, 'SIGKILL');
      await eventually('the database to be back', async () => {
        const answer = await library.detail(kept.id);
        if (answer.status !== 200) expectRefusal(answer, 'database');
        return answer.status === 200 && pidOf() !== killed;
      });
      await becomesReady(client);
      expect(await library.read(kept.id)).toEqual(kept);
      expect((await createClient(service, key).library.presign()).status).toBe(201);
      expect(await download(client, await confirmPatiently(client, pending))).toBe(md5('pending'));
    }
  });
}
