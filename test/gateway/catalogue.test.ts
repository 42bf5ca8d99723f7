// The catalogue that holds: read again when it is told to, never a step back.

import { expect, test } from 'bun:test';
import { CatalogueKeeper, toSource } from '../../src/gateway/catalogue/current.ts';
import { Targets } from '../../src/gateway/targets.ts';
import { silentLog } from '../support/database.ts';

/** An upstream whose list is given, slowly, as it was when it was asked for. */
function listing() {
  let list: unknown = { data: [{ id: 'first' }] };
  let asked = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      asked += 1;
      const answer = JSON.stringify(list);
      await Bun.sleep(100);
      return new Response(answer);
    },
  });
  const source = toSource({
    modelsFile: undefined,
    openai: { baseUrl: `http://127.0.0.1:${server.port}`, apiKey: undefined },
    variable: () => undefined,
  });
  const catalogue = new CatalogueKeeper({ source, targets: new Targets(), log: silentLog });
  return {
    catalogue,
    asked: () => asked,
    say: (next: unknown) => {
      list = next;
    },
    names: async () => (await catalogue.current()).models.map(({ id }) => id),
    [Symbol.asyncDispose]: async () => {
      await server.stop(true);
    },
  };
}

test('who is told to read again while it reads does so afterwards', async () => {
  await using upstream = listing();
  const first = upstream.catalogue.reload();
  await Bun.sleep(50);
  upstream.say({ data: [{ id: 'second' }] });
  await Promise.all([first, upstream.catalogue.reload(), upstream.catalogue.reload()]);
  expect(await upstream.names()).toContain('second');
  expect(upstream.asked()).toBe(2);
});

test('many who ask at once before there is a list have it asked for once', async () => {
  await using upstream = listing();
  const all = await Promise.all(Array.from({ length: 20 }, () => upstream.names()));
  for (const names of all) expect(names).toEqual(['first', 'local-multilingual-e1']);
  expect(upstream.asked()).toBe(1);
});

for (const list of [null, 5, [], {}, { data: 5 }, { data: null }, 'text']) {
  test(`what is no list leaves the one that was: ${JSON.stringify(list)}`, async () => {
    await using upstream = listing();
    await upstream.catalogue.reload();
    upstream.say(list);
    await upstream.catalogue.reload();
    expect(await upstream.names()).toContain('first');
    expect(upstream.catalogue.state().state).toBe('degraded');
  });
}

test('what is no model in a list is left out', async () => {
  await using upstream = listing();
  upstream.say({ data: [null, 5, {}, { id: 5 }, { id: '' }, { id: 'good', created: 'x', owned_by: 5 }] });
  expect(await upstream.names()).toEqual(['good', 'local-multilingual-e1']);
});
