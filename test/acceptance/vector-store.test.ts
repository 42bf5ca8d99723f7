// The documents of a workspace as a vector store, asked by the official client of OpenAI's API as it is.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI, { type APIError, AuthenticationError, BadRequestError, PermissionDeniedError } from 'openai';
import { startChild } from '../support/child.ts';
import { findPython, missingPython } from '../support/python-sdk.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import type { Library } from './support/library.ts';
import { type Setting, startSetting } from './support/setting.ts';

const missing = missingPython();

let setting: Setting;
let client: OpenAI;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on' });
  client = clientOf(setting.adminKey);
});
afterAll(() => setting.service[Symbol.asyncDispose]());

const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${setting.url}/v1`, maxRetries: 0 });

const freshWord = (): string => `w${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`;

async function stored(library: Library, given: Record<string, unknown>, content: string): Promise<string> {
  const { id } = await library.stored(given, content);
  expect(await library.whenRead(id)).toMatchObject({ status: 'ready' });
  return id;
}

type Search = Parameters<OpenAI['vectorStores']['search']>[1];
const idsOf = async (search: Search): Promise<string[]> =>
  (await client.vectorStores.search(setting.workspace, search)).data.map(({ file_id }) => file_id).sort();

async function errorOf(search: object, asked = client): Promise<APIError> {
  try {
    await asked.vectorStores.search(setting.workspace, search as Search);
  } catch (error) {
    return error as APIError;
  }
  throw new Error('the search is not refused');
}

describe('a search of a vector store', () => {
  test('finds passages in the shape of the official client, the best first', async () => {
    const word = freshWord();
    const given = { name: 'pump.txt', tags: ['manual'], slots: { revision: 7, draft: false, parts: ['a'] } };
    const id = await stored(setting.admin, given, `The ${word} is changed every 500 hours.`);
    const page = await client.vectorStores.search(setting.workspace, {
      query: `When is the ${word} changed?`,
    });
    expect(page.data[0]).toEqual({
      file_id: id,
      filename: 'pump.txt',
      score: expect.any(Number),
      attributes: {
        revision: 7,
        draft: false,
        file_type: 'txt',
        file_size: expect.any(Number),
        created_at: expect.any(Number),
        status: 'private',
      },
      content: [{ type: 'text', text: `The ${word} is changed every 500 hours.` }],
    });
    expect(page.object).toBe('vector_store.search_results.page');
    const { text } = await setting.call('POST', `/v1/vector_stores/${setting.workspace}/search`, {
      headers: { authorization: `Bearer ${setting.adminKey}` },
      json: { query: [word, 'pump'], rewrite_query: false, ranking_options: { ranker: 'auto' } },
    });
    expect(JSON.parse(text)).toMatchObject({
      search_query: [word, 'pump'],
      has_more: false,
      next_page: null,
    });
  });

  test.skipIf(missing !== undefined)(
    `is asked by the client for Python, too${missing === undefined ? '' : ` (${missing})`}`,
    async () => {
      const word = freshWord();
      const id = await stored(setting.admin, { tags: ['manual'] }, `The ${word} is changed every 500 hours.`);
      const program = `
import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
only = {"type": "eq", "key": "tags", "value": "manual"}
page = client.vector_stores.search(
    "${setting.workspace}", query="When is the ${word} changed?", filters=only, max_num_results=1, rewrite_query=False
)
print([(result.file_id, result.content[0].text) for result in page])
`;
      const environment = { BASE_URL: `${setting.url}/v1`, API_KEY: setting.adminKey };
      const child = startChild([findPython() ?? '', '-c', program], { environment });
      expect([await child.exited, child.output().trim()]).toEqual([
        0,
        `[('${id}', 'The ${word} is changed every 500 hours.')]`,
      ]);
    },
  );

  test('answers as many results as asked for, and says whether there are more', async () => {
    const word = freshWord();
    for (let number = 0; number < 3; number++)
      await stored(setting.admin, {}, `The ${word} number ${number}.`);
    const json = { query: word, max_num_results: 2 };
    const answer = await setting.call('POST', `/v1/vector_stores/${setting.workspace}/search`, {
      key: setting.adminKey,
      json,
    });
    const page = bodyOf<{ data: { score: number }[]; has_more: boolean }>(answer, 200);
    expect(page.data.length).toBe(2);
    expect(page.has_more).toBe(true);
    const least = page.data[0]?.score ?? 0;
    const best = await client.vectorStores.search(setting.workspace, {
      query: word,
      ranking_options: { score_threshold: least },
    });
    for (const { score } of best.data) expect(score).toBeGreaterThanOrEqual(least - 0.0001);
  });

  test('is filtered by attributes of documents and by slots, compared and combined', async () => {
    const word = freshWord();
    const account = JSON.rawJSON('12345678901234567890');
    const first = await stored(
      setting.admin,
      { name: `a ${word}.txt`, tags: ['manual', word], slots: { year: 2024, team: 'a,b', account } },
      `The ${word} leaks.`,
    );
    const second = await stored(setting.admin, { tags: [word], slots: { year: 2025 } }, `A ${word}.`);
    const both = [first, second].sort();
    const mine = { type: 'eq', key: 'tags', value: word };
    const found = (filters: object) =>
      idsOf({ query: word, filters: { type: 'and', filters: [mine, filters] } as never });
    expect(await found({ type: 'eq', key: 'tags', value: 'manual' })).toEqual([first]);
    expect(await found({ type: 'ne', key: 'tags', value: 'manual' })).toEqual([second]);
    expect(await found({ type: 'eq', key: 'year', value: 2025 })).toEqual([second]);
    expect(await found({ type: 'in', key: 'year', value: [2024, 2025] })).toEqual(both);
    expect(await found({ type: 'nin', key: 'year', value: [2024] })).toEqual([second]);
    expect(await found({ type: 'eq', key: 'team', value: 'a,b' })).toEqual([first]);
    expect(await found({ type: 'eq', key: 'account', value: account })).toEqual([first]);
    expect(await found({ type: 'gte', key: 'created_at', value: 1_700_000_000 })).toEqual(both);
    expect(await found({ type: 'lt', key: 'created_at', value: '2020-01-01T00:00:00Z' })).toEqual([]);
    const year = (value: number) => ({ type: 'eq', key: 'year', value });
    const named = { type: 'eq', key: 'name', value: `a ${word}.txt` };
    expect(await found({ type: 'and', filters: [named, year(2025)] })).toEqual([]);
    expect(await found({ type: 'or', filters: [named, year(2025)] })).toEqual(both);
    const either = { type: 'or', filters: [year(2024), year(2025)] };
    expect(await found({ type: 'and', filters: [named, either] })).toEqual([first]);
  });

  test('shows nobody a passage of a document that they may not see', async () => {
    const [owner, other] = [await setting.people.person(), await setting.people.person()];
    const word = freshWord();
    const id = await stored(owner.library, { status: 'private' }, `The ${word} leaks.`);
    const isFound = async (key: string): Promise<boolean> => {
      const page = await clientOf(key).vectorStores.search(setting.workspace, { query: word });
      return page.data.some(({ file_id }) => file_id === id);
    };
    expect(await isFound(owner.key)).toBe(true);
    expect(await isFound(other.key)).toBe(false);
    expectStatus(await owner.library.patch(id, { status: 'public' }), 200);
    expect(await isFound(other.key)).toBe(true);
  });
});

describe('a search of a vector store is refused in the shape of OpenAI', () => {
  test('without a key, for another workspace, and for a key without the scope', async () => {
    expect(await errorOf({ query: 'a' }, clientOf('none'))).toBeInstanceOf(AuthenticationError);
    const elsewhere = await setting.elsewhere();
    const foreign = await elsewhere.people.person();
    expect(await errorOf({ query: 'a' }, clientOf(foreign.key))).toBeInstanceOf(PermissionDeniedError);
    const { key } = await setting.people.newKey({ scopes: ['models'] });
    expect(await errorOf({ query: 'a' }, clientOf(key))).toBeInstanceOf(PermissionDeniedError);
  });

  const eq = (value: unknown) => ({ type: 'eq', key: 'a', value });
  const nested = (depth: number): object =>
    depth === 0 ? eq(1) : { type: 'and', filters: [nested(depth - 1)] };
  const sixteenfold = (depth: number): object =>
    depth === 0 ? eq(1) : { type: 'and', filters: Array.from({ length: 16 }, () => sixteenfold(depth - 1)) };
  const REFUSED: [request: object, param: string][] = [
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: [] }, 'query'],
    [{ query: Array.from({ length: 9 }, () => 'a') }, 'query'],
    [{ query: 'a'.repeat(100_000) }, 'query'],
    [{ query: 'a', max_num_results: 51 }, 'max_num_results'],
    [{ query: 'a', rewrite_query: true }, 'rewrite_query'],
    [{ query: 'a', ranking_options: { score_threshold: 2 } }, 'ranking_options.score_threshold'],
    [{ query: 'a', filters: [] }, 'filters'],
    [{ query: 'a', filters: { type: 'like', key: 'a', value: 'b' } }, 'filters.type'],
    [{ query: 'a', filters: { type: 'eq', key: 7, value: 'b' } }, 'filters.key'],
    [{ query: 'a', filters: eq({}) }, 'filters.value'],
    [{ query: 'a', filters: { type: 'gt', key: 'year', value: 7 } }, 'filters.type'],
    [{ query: 'a', filters: { type: 'gt', key: 'created_at', value: 'soon' } }, 'filters.value'],
    [{ query: 'a', filters: { type: 'gt', key: 'created_at', value: 8e12 } }, 'filters.value'],
    [{ query: 'a', filters: { type: 'in', key: 'created_at', value: [0, -8e12] } }, 'filters.value'],
    [{ query: 'a', filters: { type: 'gt', key: 'file_size', value: ' ' } }, 'filters.value'],
    [{ query: 'a', filters: { type: 'and', filters: [] } }, 'filters.filters'],
    [{ query: 'a', filters: { type: 'and', filters: [eq(1), eq([])] } }, 'filters.filters.1.value'],
    [{ query: 'a', filters: nested(6) }, 'filters.filters.0.filters.0.filters.0.filters.0.filters.0'],
    [{ query: 'a', filters: { type: 'or', filters: Array.from({ length: 3000 }, () => eq(1)) } }, 'filters'],
    [
      { query: 'a', filters: { type: 'in', key: 'a', value: Array.from({ length: 3000 }, String) } },
      'filters.value',
    ],
    // Each size is an alternative of its own; and each comparison counts, however they are nested.
    [
      {
        query: 'a',
        filters: { type: 'in', key: 'file_size', value: Array.from({ length: 17 }, (_, n) => n) },
      },
      'filters',
    ],
    [{ query: 'a', filters: sixteenfold(3) }, 'filters'],
  ];
  test.each(REFUSED.map(([request, param]) => [param, request] as const))(
    'where %s is wrong',
    async (param, request) => {
      const error = await errorOf(request);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error.param?.split('.').slice(0, param.split('.').length).join('.')).toBe(param);
      expect(error.type).toBe('invalid_request_error');
    },
  );
});
