// What the official SDK throws, and when it tries again.

import { expect, test } from 'bun:test';
import {
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai';
import { eventually } from '../../support/child.ts';
import { HELLO } from './chat.ts';
import { clientOf, type Kind, type Place } from './place.ts';

export const thrownBy = async (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => undefined,
    (error: unknown) => error,
  );

export function errorSuite(here: () => Place, kind: Kind): void {
  const model = (name: string): string => here().model(name);
  const ask = (name: string, more: object = {}) =>
    clientOf(here()).chat.completions.create({ model: model(name), messages: HELLO, ...more });

  const classes = {
    'status-400': BadRequestError,
    'status-404': NotFoundError,
    'status-409': ConflictError,
    'status-422': UnprocessableEntityError,
    'status-429': RateLimitError,
    'status-500': InternalServerError,
    'status-503': InternalServerError,
  };
  for (const [name, expected] of Object.entries(classes)) {
    for (const stream of [false, true]) {
      test(`${name} is a ${expected.name}${stream ? ' for a stream, too' : ''}`, async () => {
        const error = await thrownBy(ask(name, { stream }));
        expect(error).toBeInstanceOf(expected);
        const { status, type, message, headers } = error as InstanceType<typeof expected>;
        expect({ status, type }).toEqual({ status: Number(name.slice(-3)), type: expect.any(String) });
        expect(message).toContain(name.startsWith('status-5') ? '' : 'mock says');
        expect(headers?.get('content-type')).toStartWith('application/json');
      });
    }
  }

  test('an unknown model is not found', async () => {
    const error = await thrownBy(
      clientOf(here()).chat.completions.create({ model: 'no-such-model', messages: HELLO }),
    );
    expect(error).toBeInstanceOf(NotFoundError);
    expect((error as NotFoundError).code).toBe('model_not_found');
  });

  for (const fault of ['die-mid', 'error-mid']) {
    test(`a stream that fails in the middle throws: ${fault}`, async () => {
      const stream = await ask(fault, { stream: true });
      const read = async (): Promise<void> => {
        for await (const _chunk of stream as unknown as AsyncIterable<unknown>);
      };
      const error = await thrownBy(read());
      expect(error).toBeInstanceOf(Error);
      if (here().key !== 'any') expect(error).toBeInstanceOf(APIError);
    });
  }

  // Anthropic's wire has no unknown fields: what the mock is to do can't be told there.
  if (kind !== 'anthropic') repetitionSuite(here);
}

function repetitionSuite(here: () => Place): void {
  const model = (name: string): string => here().model(name);

  test('a refusal that will pass is tried again, after the pause that the upstream asks for', async () => {
    const key = crypto.randomUUID();
    const patient = clientOf(here(), { maxRetries: 2 });
    const mock = { key, fault: 'status-429', times: 1, 'retry-after-ms': 300 };
    const asked = { model: model('ok'), messages: HELLO, mock };
    const completion = await patient.chat.completions.create(asked);
    expect(completion.choices[0]?.message.content).toBe('You said: hello there');
    const { requests, arrivals } = await here().mock.state(key);
    expect(requests).toBe(2);
    expect((arrivals[1] ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThanOrEqual(295);
  });

  test('a mistake of the caller is not tried again', async () => {
    const key = crypto.randomUUID();
    const patient = clientOf(here(), { maxRetries: 2 });
    const asked = { model: model('ok'), messages: HELLO, mock: { key, fault: 'status-400' } };
    expect(await thrownBy(patient.chat.completions.create(asked))).toBeInstanceOf(BadRequestError);
    expect((await here().mock.state(key)).requests).toBe(1);
  });

  test('a pause that is asked for reaches the caller', async () => {
    const mock = { key: crypto.randomUUID(), fault: 'status-429', 'retry-after': 7 };
    const asked = { model: model('ok'), messages: HELLO, mock };
    const error = (await thrownBy(clientOf(here()).chat.completions.create(asked))) as RateLimitError;
    expect(error.headers?.get('retry-after')).toBe('7');
  });

  test('a client that waits no longer gives up, and its request with it', async () => {
    const key = crypto.randomUUID();
    const asked = { model: model('ok'), messages: HELLO, mock: { key, fault: 'hang' } };
    // A busy machine may take longer to bring the request to the upstream.
    for (let timeout = 1000; (await here().mock.state(key)).requests === 0; timeout *= 4) {
      const hasty = clientOf(here(), { timeout });
      expect(await thrownBy(hasty.chat.completions.create(asked))).toBeInstanceOf(APIConnectionTimeoutError);
    }
    await eventually('the request to be cancelled', async () => {
      const { requests, cancelled } = await here().mock.state(key);
      return cancelled.length === requests;
    });
  });

  for (const fault of ['hang', 'hang-mid']) {
    test(`aborting cancels the request at the upstream: ${fault}`, async () => {
      const key = crypto.randomUUID();
      const abort = new AbortController();
      const asked = { model: model('ok'), messages: HELLO, stream: true, mock: { key, fault } } as const;
      const run = async (): Promise<void> => {
        const stream = await clientOf(here()).chat.completions.create(asked, { signal: abort.signal });
        for await (const _chunk of stream);
      };
      const ran = thrownBy(run());
      await eventually('the request to run', async () => (await here().mock.state(key)).running === 1);
      await Bun.sleep(50);
      abort.abort();
      const thrown = await ran;
      // A stream that is aborted ends, without an error.
      if (fault === 'hang') expect(thrown).toBeInstanceOf(APIUserAbortError);
      await eventually(
        'the request to be cancelled',
        async () => (await here().mock.state(key)).cancelled.length === 1,
      );
    });
  }
}
