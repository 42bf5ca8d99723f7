// Postgres with a synchronous standby: the primary dies, or hands over, under load. What was acknowledged is there, answers are
// 503 at worst, and writes, notifications, locks and jobs go on with the new primary.

import { expect, test } from 'bun:test';
import { createLibrary } from '../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { type Descriptor, upload } from '../acceptance/support/uploads.ts';
import { type ChatClient, createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { connectTo } from '../support/database.ts';
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain, createPlainCaller } from './support/caller.ts';
import { ANSWER_MS_MAX, becomesReady, createClient } from './support/setting.ts';

const SOURCE = 'failover';
const PAUSE_MS = 50;
/** Longer than an answer that was made waits to be stored, which is a minute. */
const MESSAGE_MS_MAX = 90_000;
/** Acknowledgements of each kind that are waited for before and after the fault. */
const STEP = 5;
/** Writes work within ten seconds of the promotion. */
const TICK_MS = 50;
const TICKS_MAX = 10_000 / TICK_MS;

type Kind = 'confirm' | 'patch' | 'event' | 'message';

/** People who work all the time, one thing after the other, and remember what was acknowledged. */
async function work(service: RunningService) {
  const { library } = createClient(service);
  const call = createPlainCaller(service.url, ANSWER_MS_MAX);
  const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const chat: ChatClient = createChatClient(createPlainCaller(service.url, MESSAGE_MS_MAX), {
    workspace: WORKSPACE,
    key: BOOTSTRAP_KEY,
  });
  /** Once all is over: what a busy machine refuses is no loss, and is asked for again. */
  const again = asksAgain(call);
  const looking = {
    library: createLibrary(again, { workspace: WORKSPACE, key: BOOTSTRAP_KEY }),
    metrics: createMetrics(again, { workspace: WORKSPACE, key: BOOTSTRAP_KEY }),
    chat: createChatClient(again, { workspace: WORKSPACE, key: BOOTSTRAP_KEY }),
  };
  const patched = await library.stored();
  const session = await chat.newSession();
  const acknowledged: Record<Kind, string[]> = { confirm: [], patch: [], event: [], message: [] };
  const wrong: string[] = [];
  const refused = new Set<Kind | 'read'>();
  let ended = false;
  const repeat = async (
    kind: Kind | 'read',
    run: (id: string) => Promise<{ status: number; text: string }>,
  ) => {
    for (let count = 0; !ended; count++) {
      const id = `${kind} ${count}`;
      const { status, text } = await run(id).catch((error) => ({ status: 0, text: `${error}` }));
      if (status === 503) refused.add(kind);
      else if (status === 0 || status >= 300) wrong.push(`${id}: ${status} ${text}`);
      else if (kind !== 'read') acknowledged[kind].push(id);
      await Bun.sleep(PAUSE_MS);
    }
  };
  const workers = [
    repeat('confirm', async (name) => {
      const form = await library.presign();
      if (form.status !== 201) return form;
      const descriptor = JSON.parse(form.text) as Descriptor;
      await upload(descriptor, 'some text');
      return library.confirm({ temp_key: descriptor.fields['key'], document_metadata: { name } });
    }),
    repeat('patch', (id) => library.patch(patched.id, { summary: id })),
    repeat('event', (id) => metrics.send(eventOf({ id, source: SOURCE }))),
    repeat('message', (id) => chat.send(session.name, id, { id })),
    repeat('read', () => library.detail(patched.id)),
  ];
  const end = async (): Promise<void> => {
    ended = true;
    await Promise.all(workers);
  };
  return {
    acknowledged,
    wrong,
    refused,
    /** Some more of each kind have been acknowledged; of those that began after the call, as well. */
    async goesOn(kinds: readonly Kind[]): Promise<void> {
      const before = kinds.map((kind) => acknowledged[kind].length);
      const isDone = () =>
        kinds.every((kind, index) => acknowledged[kind].length >= (before[index] ?? 0) + STEP);
      await eventually(`more of ${kinds}: ${wrong}`, isDone, 180_000);
    },
    end,
    [Symbol.asyncDispose]: end,
    /** What was acknowledged and is not there; what is there twice. */
    async lost(): Promise<string[]> {
      const { library, metrics, chat } = looking;
      const names = await Promise.all(
        acknowledged.confirm.map(async (name) => ((await library.detail(name)).status === 200 ? '' : name)),
      );
      const { summary } = await library.read(patched.id);
      const last = acknowledged.patch.at(-1) ?? '';
      const isOlder = Number(summary?.split(' ')[1]) < Number(last.split(' ')[1]);
      const rows = await chat.transcript(session.chat_session_id);
      const messages = acknowledged.message.filter((id) => {
        const [own, ...twice] = rows.filter(({ role, message }) => role === 'user' && message === id);
        const answers = rows.filter(({ parent_message_id }) => parent_message_id === own?.message_id);
        return twice.length > 0 || answers.length !== 1;
      });
      const stored = await metrics.stored(SOURCE, acknowledged.event.length);
      const events = acknowledged.event.filter(
        (id) => stored.filter((each) => each.event_id === id).length !== 1,
      );
      return [...names.filter(Boolean), ...(isOlder ? [`${last}: ${summary}`] : []), ...messages, ...events];
    },
  };
}

/**
 * From when the second takes writes. A tick is a pause and a write there by a plain connection: ten seconds of ticks are ten
 * seconds on a machine that has time, and as much work on one that has none.
 */
async function startClock({ second }: PostgresPair) {
  const sql = connectTo(second.url);
  const isStandby = async () =>
    (await sql<{ standby: boolean }[]>`SELECT pg_is_in_recovery() AS standby`)[0]?.standby;
  await eventually('the promotion', async () => (await isStandby()) === false);
  const promotedAt = performance.now();
  await sql`CREATE TEMPORARY TABLE ticks (at timestamptz)`;
  let [ticks, isOver] = [0, false];
  const ticking = (async () => {
    for (; !isOver; ticks++) {
      await Bun.sleep(TICK_MS);
      await sql`INSERT INTO ticks VALUES (clock_timestamp())`;
    }
  })();
  return {
    async end() {
      const ms = performance.now() - promotedAt;
      const counted = ticks;
      isOver = true;
      await ticking;
      await sql.end({ timeout: 1 });
      return { ticks: counted, ms };
    },
  };
}

/** The sessions that listen for changes, the locks of leaders, and the jobs that wait, of the second server. */
async function stateOfSecond({ second }: PostgresPair) {
  const sql = connectTo(second.url);
  try {
    const [row] = await sql<{ listeners: number; locks: number; jobs: number }[]>`
      SELECT
        (SELECT count(*)::int FROM pg_stat_activity WHERE query ~* '^(listen |select pg_notify)') AS listeners,
        (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory') AS locks,
        (SELECT count(*)::int FROM jobs) AS jobs`;
    return row;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const FAILOVERS = {
  'dies, and comes back as a standby': {
    strike: ({ first }: PostgresPair) => first.kill(),
    after: (pair: PostgresPair) => pair.comeBack(),
  },
  'hands over, and goes on for reading': {
    strike: (pair: PostgresPair) => pair.fence(),
    after: async () => undefined,
  },
};

for (const [what, { strike, after }] of Object.entries(FAILOVERS))
  test(`a primary that ${what} costs nothing that was acknowledged, and nothing but 503 until the standby is promoted`, async () => {
    await using pair = await startPostgresPair();
    const environment = { DATABASE_URL: pair.url };
    await using service = await startService({ environment });
    await using other = await startService({ environment });
    await becomesReady(createClient(other));
    const client = createClient(service);
    await using people = await work(service);
    const { key, id } = await client.people.newKey();
    const elsewhere = createClient(other, key).library;
    expect((await elsewhere.presign()).status).toBe(201);
    const binned = await client.library.stored();
    await client.library.bin(binned.id);

    await people.goesOn(['confirm', 'patch', 'event', 'message']);
    await strike(pair);
    // A message that was accepted before is not refused: its answer waits for a minute to be stored.
    await eventually('writes to be refused', () => people.refused.has('patch'));
    await pair.promote();
    const clock = await startClock(pair);
    await people.goesOn(['confirm', 'patch', 'event', 'message']);
    const { ticks, ms } = await clock.end();
    if (process.env['FAILOVER_SHOWN']) console.log(what, Math.round(ms), 'ms,', ticks, 'ticks');
    expect(ticks).toBeLessThanOrEqual(TICKS_MAX);
    await after(pair);
    await people.goesOn(['patch', 'event', 'message']);

    await eventually(
      'both to listen at the new primary',
      async () => ((await stateOfSecond(pair))?.listeners ?? 0) >= 2,
    );
    expect((await client.people.revoke(id)).status).toBe(204);
    await eventually('the revocation to be heard', async () => (await elsewhere.presign()).status === 401);
    expect((await client.library.purge(binned.id)).status).toBe(204);
    await eventually('the jobs to be done, and a leader to be there', async () => {
      const state = await stateOfSecond(pair);
      return state?.jobs === 0 && state.locks > 0;
    });
    // One that starts now finds the same primary, though the address names the other server first.
    await using late = await startService({ environment });
    await becomesReady(createClient(late));
    await people.end();
    expect(people.wrong).toEqual([]);
    expect(await people.lost()).toEqual([]);
  });
