// The power goes while people work with the service and all that it embeds. What a machine finds on its disk afterwards
// is started again: everything that was acknowledged is there, once, and the bucket holds what the records say.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLibrary, md5 } from '../acceptance/support/library.ts';
import { createMetrics } from '../acceptance/support/metrics.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { embeddedBucket, listKeys } from './support/bucket.ts';
import { asksAgain, createPlainCaller } from './support/caller.ts';
import { accountedRequests, allDocuments, createWork, type Promised } from './support/power-work.ts';
import { createRandom, seedOfRun } from './support/random.ts';

const MOMENTS = 3;
const MOMENT_MS = { from: 100, to: 1500 };

/** A machine that has power again, and what was known before it was lost, and by when it was gone. */
type Restarted = { title: string; service: RunningService; before: Promised; after: Promised };

const missing = missingFaultyDisk();
const seed = seedOfRun();

describe.skipIf(missing !== undefined)(
  missing === undefined ? `a power cut (FAULT_SEED=${seed})` : `a power cut (${missing})`,
  () => {
    const random = createRandom(seed);
    const restarted: Restarted[] = [];
    let disk: FaultyDisk | undefined;
    let secret: unknown;

    /** What is found at each moment is looked at strictly, and with what chance lets through. */
    beforeAll(async () => {
      disk = await mountFaultyDisk({ namesWithFiles: 'data/postgres/cluster/**' });
      const dataDir = join(disk.path, 'data');
      const running = await startService({ dataDir });
      secret = secretOf(dataDir);
      const found: { title: string; folder: string; before: Promised; after: Promised }[] = [];
      try {
        const work = createWork(running.url, random);
        await eventually('something to be promised of everything', work.isUnderWay);
        for (let moment = 1; moment <= MOMENTS; moment++) {
          await Bun.sleep(random.between(MOMENT_MS));
          for (const diskSeed of [0, 1 + random.below(2 ** 30)]) {
            const before = await work.promised();
            const folder = await disk.survivor(diskSeed);
            const title = `moment ${moment}, ${diskSeed === 0 ? 'strictly' : `seed ${diskSeed}`}`;
            found.push({ title, folder, before, after: work.known() });
          }
        }
        await disk.cut();
        const ended = work.end();
        // What nobody can answer any more is not waited for.
        running.child.kill('SIGKILL');
        await ended;
      } finally {
        running.child.kill('SIGKILL');
        await running.child.exited;
      }
      for (const { title, folder, ...known } of found)
        restarted.push({ title, ...known, service: await restart(join(folder, 'data')) });
    });
    afterAll(async () => {
      await Promise.all(restarted.map(({ service }) => service[Symbol.asyncDispose]()));
      await disk?.[Symbol.asyncDispose]();
    });

    const everywhere = async (check: (machine: Restarted) => Promise<void>): Promise<void> => {
      expect(restarted.length).toBe(MOMENTS * 2);
      for (const machine of restarted) {
        await check(machine).catch((error: unknown) => {
          throw new Error(`${machine.title}: ${error instanceof Error ? error.message : error}`, {
            cause: error,
          });
        });
      }
    };
    const callerOf = ({ service }: Restarted) => asksAgain(createPlainCaller(service.url));
    const metricsOf = (machine: Restarted) =>
      createMetrics(callerOf(machine), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });

    test('loses no usage event that was acknowledged, and stores none twice', () =>
      everywhere(async (machine) => {
        const promised = new Set(machine.before.events);
        const items = await eventually('the events', async () => {
          const all = await metricsOf(machine).all();
          return promised.difference(new Set(all.map(({ event_id }) => event_id))).size === 0 && all;
        });
        const names = items.map(({ source, event_id }) => `${source} ${event_id}`);
        expect(new Set(names).size).toBe(names.length);
        expect(promised.size).toBeGreaterThan(0);
      }));

    test('loses no document that was confirmed, and the bucket holds what the records say', () =>
      everywhere(async (machine) => {
        const { before, after } = machine;
        const library = createLibrary(callerOf(machine), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
        const records = await allDocuments(callerOf(machine));
        const ids = new Set(records.map(({ id }) => id));
        const kept = before.documents.filter(({ id }) => !after.purged.includes(id));
        expect(kept.length).toBeGreaterThan(0);
        expect(kept.filter(({ id }) => !ids.has(id))).toEqual([]);
        expect(before.purgedSurely.filter((id) => ids.has(id))).toEqual([]);
        for (const { id, name, status, file_hash } of records) {
          if (status === 'deleted') continue;
          const response = await fetch(await library.link(id));
          expect({ name, md5: md5(await response.bytes()) }).toEqual({ name, md5: file_hash ?? '' });
        }
        const bucket = embeddedBucket(machine.service.dataDir);
        const wanted = records
          .map(({ storage_url }) => storage_url.slice(`s3://${bucket.bucket}/`.length))
          .sort();
        let keys: string[] = [];
        await eventually('the sweeper', async () => {
          keys = await listKeys(bucket);
          return Bun.deepEquals(keys, wanted);
        }).catch(() => expect(keys).toEqual(wanted));
      }));

    test('takes signed URLs from before', () =>
      everywhere(async ({ service }) => {
        expect(secret).toBeString();
        expect(secretOf(service.dataDir)).toBe(secret);
      }));

    test('loses no message that was answered nor its events, and has none twice', () =>
      everywhere(async (machine) => {
        const { before } = machine;
        const chat = createChatClient(callerOf(machine), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
        expect(before.answers.length).toBeGreaterThan(0);
        for (const session of new Set(before.answers.map((answer) => answer.session))) {
          const rows = await chat.transcript(session);
          const answered = before.answers.filter((answer) => answer.session === session);
          const messages = rows.map(({ message_id }) => message_id);
          expect(answered.filter(({ id }) => !messages.includes(id))).toEqual([]);
          const asked = rows.filter(({ role }) => role === 'user').map(({ message }) => message);
          expect(new Set(asked).size).toBe(asked.length);
        }
        const promised = new Set(before.answers.map(({ id }) => id));
        await eventually('their events', async () => {
          const told = (await metricsOf(machine).all())
            .filter(({ type }) => type === 'messages.rag.persona.new')
            .map(({ data }) => data['message_id'] as number);
          expect(new Set(told).size).toBe(told.length);
          return promised.difference(new Set(told)).size === 0;
        });
      }));

    test('knows the keys that were made, and none that was revoked', () =>
      everywhere(async (machine) => {
        const { before, after } = machine;
        const statusOf = async (key: string) =>
          (await callerOf(machine)('GET', '/v1/acme/trash', { key })).status;
        const valid = before.keys.filter((key) => !after.revoking.includes(key));
        expect(before.revoked.length).toBeGreaterThan(0);
        expect(await Promise.all(before.revoked.map(statusOf))).toEqual(before.revoked.map(() => 401));
        expect(await Promise.all(valid.map(statusOf))).toEqual(valid.map(() => 200));
      }));

    test('loses the usage record of no model call that was answered, and counts none twice', () =>
      everywhere(async (machine) => {
        const { before, after } = machine;
        expect(before.called).toBeGreaterThan(0);
        const recorded = () => accountedRequests(callerOf(machine));
        await eventually('every record', async () => (await recorded()) >= before.called);
        await eventually('all events to be stored', async () => {
          const { text } = await callerOf(machine)('GET', '/readyz');
          return JSON.parse(text).services.usage_events.waiting_packs === 0;
        });
        expect(await recorded()).toBeLessThanOrEqual(after.asked);
      }));
  },
);

/** What the embedded store signs with. */
const secretOf = (dataDir: string): unknown =>
  JSON.parse(readFileSync(join(dataDir, 'object-store.json'), 'utf8')).secretAccessKey;

/** What was never confirmed is swept at once. */
const restart = (dataDir: string): Promise<RunningService> =>
  startService({ dataDir, environment: { UPLOAD_RETENTION_SECONDS: '1', SWEEP_INTERVAL_SECONDS: '1' } });
