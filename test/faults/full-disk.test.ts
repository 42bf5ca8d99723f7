// The disk of the data folder is full for a while, for real: a file system of its own that is filled and emptied. What was
// answered as done is there in the end, once; what cannot be kept is refused with a 503; nothing needs a restart.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { bodyOf, type Caller } from '../acceptance/support/caller.ts';
import { createLibrary, md5 } from '../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { mountDisk, type SmallDisk } from '../support/small-disk.ts';
import { createPlainCaller } from './support/caller.ts';

const key = BOOTSTRAP_KEY;

const disk = mountDisk('48m');

describe.skipIf(disk === undefined)(
  disk === undefined ? 'no file system can be mounted here' : 'a full disk',
  () => {
    const full = disk as SmallDisk;
    let postgres: PostgresUnderTest;
    let service: RunningService;
    let call: Caller;
    beforeAll(async () => {
      postgres = await startPostgresServer();
      const dataDir = join(full.path, 'data');
      mkdirSync(dataDir, { mode: 0o700 });
      service = await startService({ dataDir, environment: { DATABASE_URL: postgres.url } });
      call = createPlainCaller(service.url, 20_000);
    });
    afterAll(async () => {
      full.free();
      await service?.[Symbol.asyncDispose]();
      await postgres?.stop();
      full.remove();
    });

    /** Whether usage events can be written, and whether usage records of models are durable. */
    const states = async (): Promise<(string | undefined)[]> => {
      const { services } = JSON.parse((await call('GET', '/readyz')).text) as {
        services: Record<string, { state: string }>;
      };
      return ['usage_events', 'models'].map((name) => services[name]?.state);
    };
    const ask = (index: number) =>
      call('POST', '/v1/chat/completions', {
        key,
        json: { model: 'local-echo', messages: [{ role: 'user', content: `question ${index}` }] },
      });
    const accounted = async (): Promise<number> => {
      const answer = await call('GET', `/admin/api/workspaces/${WORKSPACE}/model-usage`, { key });
      const { items } = bodyOf<{ items: { requests: number }[] }>(answer, 200);
      return items.reduce((sum, { requests }) => sum + requests, 0);
    };
    const typesOf = async (metrics: ReturnType<typeof createMetrics>): Promise<Record<string, number>> => {
      const items = (await metrics.all()).filter(({ source }) => source === 'atrium');
      return Object.fromEntries(
        Object.entries(Object.groupBy(items, ({ type }) => type)).map(([type, all]) => [
          type,
          all?.length ?? 0,
        ]),
      );
    };

    test('loses nothing that was answered, refuses what cannot be kept with 503, and is over when there is room', async () => {
      const metrics = createMetrics(call, { workspace: WORKSPACE, key });
      const library = createLibrary(call, { workspace: WORKSPACE, key });
      const chat = createChatClient(call, { workspace: WORKSPACE, key });
      const kept = await library.stored({ name: 'kept.txt' }, 'kept');
      const counts = { sent: 0, answered: 0, signedIn: 0, ingested: 0, people: 0, refused: 0 };
      const note = (status: number, name: keyof typeof counts): void => {
        if (status < 300) counts[name] += 1;
        else if (status === 503) counts.refused += 1;
        else throw new Error(`${name}: ${status}`);
      };
      const events: string[] = [];
      const sessions: number[] = [];
      let acts = 0;
      const act = async (): Promise<void> => {
        const index = acts++;
        const event = eventOf({ source: 'full-disk' });
        await Promise.all([
          chat.newSession().then(async ({ name, chat_session_id }) => {
            sessions.push(chat_session_id);
            note((await chat.send(name, `message ${index}`)).status, 'sent');
          }),
          ask(index).then(({ status }) => {
            expect(status).toBe(200);
            counts.answered += 1;
          }),
          call('POST', '/admin/api/session', { json: { key } }).then(({ status }) =>
            note(status, 'signedIn'),
          ),
          call('POST', `/admin/api/workspaces/${WORKSPACE}/users`, {
            key,
            json: { email: `p${index}@example.com` },
          }).then(({ status }) => note(status, 'people')),
          metrics.send(event).then(({ status }) => {
            note(status, 'ingested');
            if (status === 202) events.push(String(event['id']));
          }),
        ]);
      };
      while (acts < 5) await act();
      full.fill();
      while (acts < 25) {
        await act();
        await Bun.sleep(100);
      }
      // The journal may have room for small events, and what has been stored since frees room.
      await eventually('it to be said', async () => {
        full.fill();
        await act();
        full.fill();
        return (await states()).includes('degraded') && counts.refused > 0;
      });
      // What is stored can be read.
      expect((await library.detail(kept.id)).status).toBe(200);
      full.free();
      for (let index = 0; index < 5; index++) await act();
      await eventually('it to be over', async () => (await states()).every((state) => state === 'ready'));
      // A question is kept also where its answer was refused.
      const questions = (await Promise.all(sessions.map((id) => chat.transcript(id))))
        .flat()
        .filter(({ role }) => role === 'user').length;
      const { sent, answered, signedIn, people } = counts;
      const wanted = {
        sessions: sessions.length,
        questions,
        sent,
        signedIn,
        people,
        answered: answered + sent,
      };
      let seen: object = {};
      await eventually(
        'every event',
        async () => {
          const types = await typesOf(metrics);
          seen = {
            sessions: types['chat.create'] ?? 0,
            questions: types['messages.user.new'] ?? 0,
            sent: types['messages.rag.persona.new'] ?? 0,
            signedIn: types['auth.user.login'] ?? 0,
            people: types['auth.user.create'] ?? 0,
            // A message is answered by a model, too.
            answered: await accounted(),
          };
          return Bun.deepEquals(seen, wanted);
        },
        40_000,
      ).catch(() => undefined);
      expect(seen).toEqual(wanted);
      const stored = await metrics.all();
      const ours = stored.filter(({ source }) => source === 'full-disk').map(({ event_id }) => event_id);
      expect(ours.toSorted()).toEqual(events.toSorted());
      expect(md5(await (await fetch(await library.link(kept.id))).text())).toBe(md5('kept'));
      await library.stored({ name: 'after.txt' }, 'after');
    });

    test('an upload is refused, leaves nothing to confirm, and the next one is taken', async () => {
      const library = createLibrary(call, { workspace: WORKSPACE, key });
      const form = await library.descriptor();
      const post = async () => {
        const body = new FormData();
        for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
        body.append('file', new Blob([new Uint8Array(2_000_000)]), 'large.bin');
        return fetch(form.url, { method: 'POST', body });
      };
      const confirm = { temp_key: form.fields['key'], document_metadata: { name: 'large.bin' } };
      full.fill();
      try {
        // As the store's protocol has it.
        expect((await post()).status).toBe(507);
        expect((await library.confirm(confirm)).status).toBe(404);
      } finally {
        full.free();
      }
      expect((await post()).status).toBe(204);
      expect((await library.confirm(confirm)).status).toBe(201);
    });

    test('a first start says so in a sentence, and the next one succeeds', async () => {
      // Its own disk: the service on the other one frees pages when it likes.
      const own = mountDisk('48m') as SmallDisk;
      try {
        const dataDir = join(own.path, 'first');
        mkdirSync(dataDir, { mode: 0o700 });
        const environment = { DATABASE_URL: postgres.url };
        own.fill();
        const failed = await startService({ dataDir, environment }).catch((error: Error) => error);
        own.free();
        expect(String(failed)).toMatch(
          /^Error: the service ended: atrium: .*first cannot be written: its disk is full.*\n$/,
        );

        await using second = await startService({ dataDir, environment });
        expect((await fetch(`${second.url}/readyz`)).status).toBe(200);
      } finally {
        own.remove();
      }
    });
  },
);
