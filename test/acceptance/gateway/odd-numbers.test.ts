// The numbers that a reservation goes by: one that is written as something else is refused, not taken for one.

import { describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import { CHAT, expectOpenAiError, startGatewaySetting } from './setting.ts';

const setting = await shared(startGatewaySetting());

const MESSAGES = '"messages":[{"role":"user","content":"hello"}]';
const CALLS = [
  [CHAT, MESSAGES],
  ['/v1/completions', '"prompt":"hello"'],
] as const;
const ODD = ['"50"', 'true', '[50]', '{"value":50}', '""', '1e400', '"-1"'];

for (const [path, rest] of CALLS)
  describe(path, () => {
    for (const name of ['n', 'best_of', 'max_tokens', 'max_completion_tokens'])
      test(`${name} is a number`, async () => {
        for (const value of ODD) {
          const asked = await setting.asked('right');
          for (const body of [
            `{"model":"right","${name}":${value},${rest}}`,
            `{"model":"right","${name.toUpperCase()}":${value},${rest},"${name}":1}`,
            `{"model":"right","${name.toUpperCase()}":${value},${rest}}`,
          ]) {
            const error = expectOpenAiError(await setting.post(path, body), 400);
            expect([error.type, error.param?.toLowerCase()]).toEqual(['invalid_request_error', name]);
          }
          expect(await setting.asked('right')).toBe(asked);
        }
        for (const value of ['null', '1', '1.0', '1e0'])
          expect((await setting.post(path, `{"model":"right","${name}":${value},${rest}}`)).status).toBe(200);
      });
  });

test('embeddings have no such numbers', async () => {
  const body = '{"model":"embed","input":["a"],"n":"50"}';
  expect((await setting.post('/v1/embeddings', body)).status).toBe(200);
});
