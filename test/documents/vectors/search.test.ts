// Searches in the memory of a process: within its bound, beside a model that fails.

import { expect, test } from 'bun:test';
import { newRandomId } from '../../../src/core/ids.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { fakeModel, vectorOf } from './library.ts';
import { expected, searching, setting } from './searching.ts';

const { sql } = await shared(testDatabase());

test('nothing is found before anything is embedded, and then at once', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(sql, model);
  using searched = searching(sql, model);
  const request = { workspaceId, query: 'b', limit: 2 };
  expect(await searched.search(request)).toBeUndefined();
  const id = await library.add(['a', 'b', 'c']);
  expect(await searched.search(request)).toBeUndefined();
  await embed(id);
  const found = await searched.search(request);
  expect(found?.engine).toBe(`${model.name} (exact scan)`);
  expect(found?.found.length).toBe(2);
  expect(found?.found[0]?.score).toBeCloseTo(1, 1);
  expect(searched.outcomes).toEqual(['none', 'none', 'found']);
});

test('many searches at once each get their own answer', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  using searched = searching(sql, model);
  const settings = [setting(sql, model), setting(sql, model)];
  for (const { library, embed } of settings)
    await embed(await library.add(Array.from({ length: 200 }, (_, index) => `text ${index}`)));
  const requests = Array.from({ length: 60 }, (_, index) => ({
    workspaceId: settings[index % 2]?.workspaceId ?? '',
    query: `text ${index}`,
    limit: 1 + (index % 30),
  }));
  const answers = await Promise.all(requests.map((request) => searched.search(request)));
  for (const [index, request] of requests.entries())
    expect(answers[index]?.found).toEqual(await expected(sql, request.workspaceId, request));
});

test('a workspace without room is searched without vectors, says so, and costs others nothing', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const [small, large] = [setting(sql, model), setting(sql, model)];
  await small.embed(await small.library.add(['a']));
  const many = Array.from({ length: 3000 }, (_, index) => `text ${index}`);
  for (let document = 0; document < 3; document++) await large.embed(await large.library.add(many));
  using searched = searching(sql, model, { bytesMax: 2 ** 18 });
  const ask = ({ workspaceId }: { workspaceId: string }) =>
    searched.search({ workspaceId, query: 'a', limit: 1 });
  expect((await ask(small))?.found.length).toBe(1);
  expect(await ask(large)).toBeUndefined();
  expect((await ask(small))?.found.length).toBe(1);
  expect(searched.outcomes).toEqual(['found', 'no_room', 'found']);
  expect(searched.spaces.metrics()).toMatchObject({ loaded: 1, withoutRoom: 1 });
});

test('vectors that the thread has lost are loaded again, and no search finds less in silence', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(sql, model);
  const texts = Array.from({ length: 3000 }, (_, index) => `text ${index}`);
  for (let document = 0; document < 2; document++) await embed(await library.add(texts));
  using searched = searching(sql, model);
  const request = { workspaceId, query: 'a', limit: 5000 };
  const exact = await expected(sql, workspaceId, request);
  let answered = 0;
  for (let round = 0; round < 12; round++) {
    const pending = searched.search(request);
    if (round % 3 !== 2) {
      await Bun.sleep(round * 3);
      searched.spaces.restart();
    }
    const answer = await pending;
    if (answer !== undefined) {
      answered += 1;
      expect(answer.found).toEqual(exact);
    }
  }
  expect(answered).toBeGreaterThan(0);
});

test('a model that fails, hangs, or answers other dimensions, leaves the search without vectors', async () => {
  const model = fakeModel(`model-${newRandomId()}`);
  const { workspaceId, library, embed } = setting(sql, model);
  await embed(await library.add(['a', 'b']));
  using searched = searching(sql, model);
  const { answer } = model;
  model.answer = () => Promise.reject(new Error('down'));
  expect(await searched.search({ workspaceId, query: 'one', limit: 5 })).toBeUndefined();
  model.answer = (texts) => texts.map((text) => vectorOf(text, 3));
  expect(await searched.search({ workspaceId, query: 'two', limit: 5 })).toBeUndefined();
  model.answer = () => new Promise(() => undefined);
  expect(await searched.search({ workspaceId, query: 'three', limit: 5 })).toBeUndefined();
  model.answer = answer;
  expect((await searched.search({ workspaceId, query: 'one', limit: 5 }))?.found.length).toBe(2);
  const aborted = AbortSignal.abort(new Error('left'));
  await expect(searched.search({ workspaceId, query: 'one', limit: 5 }, aborted)).rejects.toThrow('left');
  expect(searched.outcomes).toEqual(['failed', 'failed', 'failed', 'found']);
});
