import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { md5 } from '../../acceptance/support/library.ts';
import { eventually } from '../../support/child.ts';
import { type RunningService, startService } from '../../support/service.ts';
import { expectRefusal } from '../support/refusals.ts';
import { becomesReady, confirmPatiently, createClient, download } from '../support/setting.ts';

const pidOf = ({ dataDir }: RunningService): number =>
  JSON.parse(readFileSync(join(dataDir, 'postgres/connection.json'), 'utf8')).pid;

export function describeEmbeddedPostgres(): void {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService({ postgres: 'embedded' });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test('an embedded database that is killed is started again, and the service goes on with it', async () => {
    const client = createClient(service);
    const { library } = client;
    for (let round = 0; round < 2; round++) {
      const kept = await library.stored({}, 'kept');
      const pending = await library.uploaded('pending');
      const { key } = await client.people.newKey();
      const killed = pidOf(service);
      process.kill(killed, 'SIGKILL');
      await eventually('the database to be back', async () => {
        const answer = await library.detail(kept.id);
        if (answer.status !== 200) expectRefusal(answer, 'database');
        return answer.status === 200 && pidOf(service) !== killed;
      });
      await becomesReady(client);
      expect(await library.read(kept.id)).toEqual(kept);
      expect((await createClient(service, key).library.presign()).status).toBe(201);
      expect(await download(client, await confirmPatiently(client, pending))).toBe(md5('pending'));
    }
  });

  test('one that crashes, and cannot recover for a while, is started again once it can', async () => {
    const client = createClient(service);
    const kept = await client.library.stored({}, 'kept');
    const folder = join(service.dataDir, 'postgres');
    const log = (): string => readFileSync(join(folder, 'postgres.log'), 'utf8');
    const crashed = pidOf(service);
    const listed = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', `${crashed}`]).stdout.toString();
    const writer = listed.split('\n').find((line) => line.includes('walwriter')) ?? '';
    // This stands for a disk that fails: every recovery begins, and ends with an error.
    renameSync(join(folder, 'cluster/pg_wal'), join(folder, 'aside'));
    process.kill(Number.parseInt(writer, 10), 'SIGKILL');
    await eventually('a recovery to fail', () => /FATAL: .*pg_wal/.test(log()));
    expectRefusal(await client.library.detail(kept.id), 'database');

    renameSync(join(folder, 'aside'), join(folder, 'cluster/pg_wal'));
    await becomesReady(client);
    expect(pidOf(service)).not.toBe(crashed);
    expect(await client.library.read(kept.id)).toEqual(kept);
  });
}
