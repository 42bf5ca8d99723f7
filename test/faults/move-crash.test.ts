// `bun run admin move`, killed at moments that chance chooses, until one run gets to its end: everything has arrived, once, in the
// real servers. Then back to embedded ones. FAULT_SEED repeats a run.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { bodyOf } from '../acceptance/support/caller.ts';
import { createLibrary, md5 } from '../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { type Descriptor, upload } from '../acceptance/support/uploads.ts';
import { describeRows } from '../backup/filled-tables.ts';
import { runAdminWith } from '../support/admin.ts';
import { startChild } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { missingStore, startRealStore } from '../support/object-stores.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { createPlainCaller } from './support/caller.ts';
import { createRandom, seedOfRun } from './support/random.ts';

const ADMIN = join(import.meta.dir, '../../src/admin.ts');
const DOCUMENTS = 12;
/** The first kill comes within this time, each later one within a longer one, so that every part of a move has its turn on any machine. */
const FIRST_MS = 600;
const GROWTH = 1.4;
const CANCEL_CHANCE = 0.3;
const missing = missingStore('minio');

const write = (settings: Record<string, string>): string => {
  const file = join(freshFolder(), 'target.env');
  writeFileSync(
    file,
    Object.entries(settings)
      .map((each) => `${each.join('=')}\n`)
      .join(''),
  );
  return file;
};

const clientOf = ({ url }: RunningService) => {
  const call = createPlainCaller(url);
  const access = { workspace: WORKSPACE, key: BOOTSTRAP_KEY };
  return { call, library: createLibrary(call, access), metrics: createMetrics(call, access) };
};

/** Rows but those that the command writes itself. */
async function rowsOf(sql: Sql): Promise<unknown> {
  await sql`DELETE FROM audit_log WHERE action LIKE 'service.%move'`;
  const { 'sequence audit_log_id_seq': _, ...rows } = await describeRows(sql);
  return rows;
}

/** The document is what it was, to its last byte. */
async function expectDocuments(service: RunningService, contents: Map<string, string>): Promise<void> {
  const { library } = clientOf(service);
  for (const [name, content] of contents) {
    const { id } = bodyOf<{ id: string }>(await library.detail(name), 200);
    expect(md5(await (await fetch(await library.link(id))).bytes())).toBe(md5(Buffer.from(content)));
  }
}

test.skipIf(missing !== undefined)(
  'a move that is killed again and again loses and doubles nothing, and its way back neither',
  async () => {
    const seed = seedOfRun();
    const random = createRandom(seed);
    await using database = await testDatabase();
    await database.sql`UPDATE documents_identity SET id = gen_random_uuid()`;
    await using kept = new AsyncDisposableStack();
    const store = await startRealStore('minio');
    kept.defer(store.stop);
    const [dataDir, back] = [freshFolder(), freshFolder()];
    const settings = { DATABASE_URL: database.url, ...store.environment, DATA_DIR: dataDir };
    const words = ['move', '--target', write(settings), '--json'];
    const contents = new Map<string, string>();
    {
      await using source = await startService({ dataDir, postgres: 'embedded' });
      const { library, metrics } = clientOf(source);
      const add = async (): Promise<number> => {
        const name = `document ${contents.size}`;
        const form = await library.presign();
        if (form.status !== 201) return form.status;
        const descriptor = JSON.parse(form.text) as Descriptor;
        const content = name.repeat(1 + random.below(40_000));
        await upload(descriptor, content);
        const key = descriptor.fields['key'];
        const { status } = await library.confirm({ temp_key: key, document_metadata: { name } });
        if (status === 201) contents.set(name, content);
        return status;
      };
      for (let count = 0; count < DOCUMENTS; count++) expect(await add()).toBe(201);
      expect((await metrics.send(eventOf({ id: 'before', source: 'move' }))).status).toBe(202);
      await metrics.stored('move', 1);
      let kills = 0;
      let outcome: { code: number; output: string } | undefined;
      for (let withinMs = FIRST_MS; outcome === undefined; withinMs *= GROWTH) {
        const child = startChild([process.execPath, ADMIN, ...words], { environment: { DATA_DIR: dataDir } });
        const timer = setTimeout(() => child.kill('SIGKILL'), random.below(withinMs));
        const code = await child.exited.finally(() => clearTimeout(timer));
        kills += code === 137 ? 1 : 0;
        // The server may keep the session of the one that was killed for a moment.
        const isHeld = child.output().includes('another move of this database is running');
        if (code !== 137 && !isHeld) outcome = { code, output: child.output() };
        // Read-only where it was killed in its last step, and not where it was killed before.
        if (outcome !== undefined) continue;
        expect([201, 503]).toContain(await add());
        // A source that takes changes again after the target was complete can be moved only to another one.
        const [{ complete } = { complete: false }] = await database.sql<{ complete: boolean }[]>`
          SELECT EXISTS (SELECT FROM workspaces) AS complete`;
        if (complete || !random.chance(CANCEL_CHANCE)) continue;
        expect((await runAdminWith({ DATA_DIR: dataDir }, ['move', 'cancel'])).code).toBe(0);
        expect(await add()).toBe(201);
      }
      console.log(`FAULT_SEED=${seed}: ${kills} kills`);
      expect(outcome).toMatchObject({ code: 0, output: expect.stringContaining('"missing_objects":0') });
      expect(await add()).toBe(503);
      const embedded = connectTo(readConnection(join(dataDir, 'postgres')) ?? '', {
        settings: { default_transaction_read_only: 'off' },
      });
      try {
        expect(await rowsOf(database.sql)).toEqual(await rowsOf(embedded));
      } finally {
        await embedded.end({ timeout: 1 });
      }
    }
    {
      await using moved = await startService({ environment: settings });
      await expectDocuments(moved, contents);
      const target = write({ DATA_DIR: back });
      const report = await runAdminWith(settings, ['move', '--target', target, '--json']);
      expect([report.code, report.err]).toEqual([0, expect.any(String)]);
      expect(JSON.parse(report.out)).toMatchObject({ objects: contents.size, missing_objects: 0 });
    }
    await using again = await startService({ dataDir: back, postgres: 'embedded' });
    await expectDocuments(again, contents);
    expect(await clientOf(again).metrics.stored('move', 1)).toHaveLength(1);
    const listed = await clientOf(again).call('GET', `/v1/filter/${WORKSPACE}`, {
      key: BOOTSTRAP_KEY,
      query: { size: 100 },
    });
    expect(bodyOf<{ total: number }>(listed, 200).total).toBe(contents.size);
  },
);
