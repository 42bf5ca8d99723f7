// Attempts that failed are told in the log: one line each, no more than can be read, and no secret.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { TraceContext } from '../../src/core/trace-context.ts';
import { AttemptFailure } from '../../src/gateway/answer.ts';
import { AttemptLog } from '../../src/gateway/attempt-log.ts';
import { Target } from '../../src/gateway/targets.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { createClient } from '../acceptance/gateway/client.ts';
import { eventually } from '../support/child.ts';
import { type ModelsFile, type RunningGateway, startGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { SECRET } from '../support/mock-upstream/play.ts';

type Line = {
  level: string;
  msg: string;
  target: string;
  model: string;
  attempt: number;
  kind: string;
  code?: string;
  cause?: string;
  status?: number;
  ms: number;
  request_id?: string;
  omitted?: number;
};

describe('under an outage', () => {
  const targetOf = (): Target => new Target({ model: 'm', upstream: undefined }, () => 0);
  function setting() {
    const lines: Partial<Line>[] = [];
    const log = new AttemptLog({ warn: (fields) => void lines.push(fields) });
    const refusal = new OpenAiRefusal('upstream-failed', 'It failed');
    const failure = new AttemptFailure(refusal, { next: 'same', status: 503 });
    const fail = (target: Target, trace?: TraceContext): void => {
      const call = { modelId: 'm', requestId: 'r', trace };
      log.note({ target, call, number: 2, startedAtMs: performance.now() }, failure);
    };
    return { lines, fail };
  }

  test('a line names the trace of its request, which is not the current one where it is not sampled', () => {
    const { lines, fail } = setting();
    const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)];
    fail(targetOf(), { traceId, spanId, isSampled: false });
    fail(targetOf(), { traceId, spanId, isSampled: true });
    expect(lines[0]).toMatchObject({ trace_id: traceId, span_id: spanId });
    // The log adds those of the current one itself.
    expect(lines[1]).not.toHaveProperty('trace_id');
  });

  test('a few lines of each target, the next of which says how many were left out', () => {
    const { lines, fail } = setting();
    const [one, other] = [targetOf(), targetOf()];
    for (let index = 0; index < 1000; index++) fail(one);
    fail(other);
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)?.omitted).toBeUndefined();
    one.logged.sinceMs -= 60_000;
    fail(one);
    expect(lines.at(-1)).toMatchObject({
      model: 'm',
      attempt: 2,
      kind: 'upstream-failed',
      status: 503,
      request_id: 'r',
      omitted: 990,
    });
  });
});

describe('of the running service', () => {
  const modelsFile = (mockUrl: string): ModelsFile => {
    const to = (model: string, upstream = 'main') => ({ targets: [{ upstream, model }] });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the service puts the variable in.
    const main = { base_url: `${mockUrl}/v1`, api_key: '${UPSTREAM_KEY}', retries: 1 };
    return {
      upstreams: {
        main,
        impatient: { ...main, timeout_ms: { first_byte: 300 } },
        // Its first bytes come in time also on a slow machine.
        restless: { ...main, timeout_ms: { idle: 300 } },
        dead: { base_url: 'http://127.0.0.1:1/v1', retries: 0 },
      },
      models: {
        ok: to('ok'),
        unavailable: { ...to('status-503'), fallbacks: ['ok'] },
        misconfigured: to('status-401'),
        refusing: to('status-400'),
        silent: to('hang', 'impatient'),
        html: to('html'),
        'broken-off': to('die-mid'),
        'silent-later': to('hang-mid', 'restless'),
        left: to('hang+key=left'),
        'error-later': to('error-mid'),
        dead: { targets: [{ upstream: 'dead', model: 'x' }] },
      },
    };
  };
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway(modelsFile);
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  const linesOf = (model: string): Line[] =>
    gateway.service.child
      .output()
      .split('\n')
      // The last may have come in part.
      .slice(0, -1)
      .filter((line) => line.includes('an attempt at a model failed'))
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.model === model);

  async function ask(model: string, stream = false): Promise<string> {
    const headers = { 'x-request-id': `of-${model}` };
    const body = { stream, messages: [{ role: 'user', content: 'what nobody may read' }] };
    return (await createClient(gateway).ask(model, { headers, body })).text();
  }

  const CASES: [model: string, stream: boolean, lines: Partial<Line>[]][] = [
    [
      'unavailable',
      false,
      [1, 2].map((attempt) => ({ target: 'main/status-503', attempt, kind: 'upstream-failed', status: 503 })),
    ],
    ['misconfigured', false, [{ attempt: 1, code: 'upstream_credentials', status: 401 }]],
    ['silent', false, [{ attempt: 1, kind: 'upstream-timeout', code: 'upstream_first_byte_timeout' }]],
    ['html', false, [1, 2].map((attempt) => ({ attempt, kind: 'upstream-failed' }))],
    [
      'dead',
      false,
      [{ target: 'dead/x', kind: 'upstream-failed', cause: expect.stringMatching(/refused/i) as string }],
    ],
    ['broken-off', true, [{ attempt: 1, code: 'upstream_broke_off' }]],
    ['silent-later', true, [{ attempt: 1, code: 'upstream_idle_timeout' }]],
    ['error-later', true, [{ attempt: 1, kind: 'upstream-failed' }]],
  ];
  for (const [model, stream, expected] of CASES) {
    test(`${model}: a line with target, attempt, reason, time and request id`, async () => {
      await ask(model, stream);
      const lines = await eventually('the lines', () => {
        const found = linesOf(model);
        return found.length >= expected.length && found;
      });
      expect(lines).toHaveLength(expected.length);
      for (const [index, line] of lines.entries()) {
        expect(line).toMatchObject({ level: 'warn', request_id: `of-${model}`, ...expected[index] });
        expect(line.ms).toBeGreaterThanOrEqual(0);
      }
    });
  }

  test('what answers, and what is the caller’s own mistake or leaving, is no failure; no secret is told', async () => {
    await ask('ok');
    await ask('ok', true);
    await ask('refusing');
    const leaving = new AbortController();
    const left = createClient(gateway).ask('left', { body: { stream: true }, signal: leaving.signal });
    await eventually('it to be asked', async () => (await gateway.mock.state('left')).running === 1);
    leaving.abort();
    await left.catch(() => undefined);
    // A line that comes later than all of theirs.
    const before = linesOf('dead').length;
    await ask('dead');
    await eventually('a later line', () => linesOf('dead').length > before);
    expect(linesOf('ok')).toEqual([]);
    expect(linesOf('refusing')).toEqual([]);
    expect(linesOf('left')).toEqual([]);
    const log = gateway.service.child.output();
    for (const secret of [UPSTREAM_KEY, SECRET, 'what nobody may read']) expect(log).not.toContain(secret);
  });
});
