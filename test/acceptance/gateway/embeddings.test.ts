// The workspace's embeddings, as the interface has them: its own validation errors, and OpenAI's wire.

import { describe, expect, test } from 'bun:test';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { type Answer, bodyOf } from '../support/caller.ts';
import { startGatewaySetting } from './setting.ts';

const setting = await shared(startGatewaySetting());

const PATH = `/${WORKSPACE}/v1/embeddings`;
const embed = (body: unknown): Promise<Answer> => setting.post(PATH, JSON.stringify(body));

type Embeddings = {
  model: string;
  object: string;
  data: { embedding: number[]; index: number; object: string }[];
};

test('texts are embedded with the default model, in their order', async () => {
  const { model, data } = bodyOf<Embeddings>(await embed({ input: ['a', 'b', 'a'] }), 200);
  expect(model).toBe('embed');
  expect(data.map(({ index, object }) => [index, object])).toEqual([
    [0, 'embedding'],
    [1, 'embedding'],
    [2, 'embedding'],
  ]);
  expect(data[0]?.embedding).toEqual(data[2]?.embedding ?? []);
  expect(data[0]?.embedding).not.toEqual(data[1]?.embedding ?? []);
});

test('one text is understood as a list of one', async () => {
  expect(bodyOf<Embeddings>(await embed({ input: 'a' }), 200).data).toHaveLength(1);
});

test('base64 is given where it is asked for', async () => {
  const plain = bodyOf<Embeddings>(await embed({ input: ['a'] }), 200).data[0]?.embedding ?? [];
  const answer = await embed({ input: ['a'], encoding_format: 'base64' });
  const { data } = JSON.parse(answer.text) as { data: { embedding: string }[] };
  const bytes = Buffer.from(data[0]?.embedding ?? '', 'base64');
  expect([...new Float32Array(new Uint8Array(bytes).buffer)]).toEqual(plain);
});

describe('is refused with 422', () => {
  const cases: [body: unknown, loc: (string | number)[], type: string | RegExp][] = [
    [{}, ['body', 'input'], 'missing'],
    [{ input: null }, ['body', 'input'], /./],
    [{ input: 5 }, ['body', 'input'], /./],
    [{ input: {} }, ['body', 'input'], /./],
    [{ input: [] }, ['body', 'input'], 'too_short'],
    [{ input: Array(2049).fill('a') }, ['body', 'input'], 'too_long'],
    [{ input: ['a', 5] }, ['body', 'input', 1], 'string_type'],
    [{ input: [1, 2, 3] }, ['body', 'input', 0], 'string_type'],
    [{ input: ['a'], model: 'nobody' }, ['body', 'model'], 'enum'],
    [{ input: ['a'], model: 'right' }, ['body', 'model'], 'enum'],
  ];
  for (const [body, loc, type] of cases) {
    test(JSON.stringify(body).slice(0, 50), async () => {
      const { detail } = bodyOf<{ detail: { loc: unknown[]; type: string }[] }>(await embed(body), 422);
      expect(detail[0]).toMatchObject({
        loc,
        type: type instanceof RegExp ? expect.stringMatching(type) : type,
      });
      expect(detail.length).toBeLessThan(20);
    });
  }

  for (const body of ['', '{', '[]', '"a"', 'null'])
    test(`the body ${JSON.stringify(body)}`, async () => {
      expect((await setting.post(PATH, body)).status).toBe(422);
    });
});

test("another workspace's path is closed", async () => {
  const { status } = await setting.post('/elsewhere/v1/embeddings', '{"input":["a"]}');
  expect([403, 404]).toContain(status);
});
