// What operators see: probes, metrics, request ids and the access log.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const key = await setting.people.newKey();

type Line = Record<string, unknown>;

/** The access log's lines of the request with this id. */
const linesOf = (requestId: string): Promise<Line[]> =>
  eventually('the access log', () => {
    // Of a line that is not whole yet only its beginning may have come.
    const whole = setting.service.child.output().split('\n').slice(0, -1);
    const lines = whole.filter((line) => line.includes(requestId));
    return lines.length > 0 && lines.map((line) => JSON.parse(line) as Line);
  });

describe('the probes', () => {
  test('/healthz says that the process is alive', async () => {
    expect(bodyOf<object>(await setting.call('GET', '/healthz'), 200)).toEqual({ status: 'ok' });
  });

  test('/readyz says how each backing service does', async () => {
    const body = bodyOf<{ status: string; services: Record<string, { state: string }> }>(
      await setting.call('GET', '/readyz'),
      200,
    );
    expect(body.status).toBe('ready');
    expect(body.services).toMatchObject({ postgres: { state: 'ready' }, object_store: { state: 'ready' } });
    expect(body.services['jobs']).toMatchObject({
      state: 'ready',
      kinds: { 'documents.delete-object': { given_up: 0 } },
    });
  });

  test('/ says what this is, and where it is described', async () => {
    const body = bodyOf<Record<string, string>>(await setting.call('GET', '/'), 200);
    expect(Object.keys(body).sort()).toEqual(['docs', 'name', 'status', 'version']);
    expect(body['docs']).toBe('/docs');
  });

  test('need no key and tell no secret', async () => {
    for (const path of ['/', '/healthz', '/readyz', '/metrics']) {
      const answer = await setting.call('GET', path);
      expectStatus(answer, 200);
      expect(answer.text).not.toMatch(/postgres:\/\/|password|secret|127\.0\.0\.1/i);
      expect(answer.text).not.toContain(setting.adminKey);
    }
  });
});

describe('/metrics', () => {
  const countOf = async (route: string, status: number): Promise<number> => {
    const { text } = await setting.call('GET', '/metrics');
    const line = text
      .split('\n')
      .find(
        (each) =>
          each.startsWith('atrium_http_request_duration_seconds_count') &&
          each.includes(`route="${route}"`) &&
          each.includes(`status="${status}"`),
      );
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  test('is Prometheus text: every line is a comment or a sample, every sample has its type', async () => {
    const answer = await setting.call('GET', '/metrics');
    expect(answer.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
    expect(answer.text.endsWith('\n')).toBe(true);
    const lines = answer.text.trim().split('\n');
    const typed = new Set(
      lines.flatMap((line) => /^# TYPE (\w+) (?:histogram|counter|gauge)$/.exec(line)?.[1] ?? []),
    );
    for (const line of lines) {
      if (line.startsWith('# ')) continue;
      const [, name = ''] =
        /^(\w+)(?:\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})? (?:[\d.e+-]+|NaN|\+Inf)$/.exec(line) ?? [];
      expect([line, typed.has(name) || typed.has(name.replace(/_(bucket|sum|count)$/, ''))]).toEqual([
        line,
        true,
      ]);
    }
  });

  test('counts requests by route and status, with a histogram of their times', async () => {
    const route = '/v1/metadata/{workspace_id}/{document}/detail';
    const before = await countOf(route, 404);
    for (let request = 0; request < 3; request++)
      expectStatus(await setting.admin.detail(crypto.randomUUID()), 404);
    expect(await countOf(route, 404)).toBe(before + 3);
    const { text } = await setting.call('GET', '/metrics');
    const bucket = text
      .split('\n')
      .find(
        (line) =>
          line.includes('_bucket') &&
          line.includes(`route="${route}"`) &&
          line.includes('status="404"') &&
          line.includes('le="+Inf"'),
      );
    expect(Number(bucket?.split(' ').at(-1))).toBe(before + 3);
  });

  test('has the time to the first token of streams, by target; whole answers have none', async () => {
    const samples = async (part: string): Promise<number[]> => {
      const { text } = await setting.call('GET', '/metrics');
      return text
        .split('\n')
        .filter((line) => line.startsWith(`atrium_model_time_to_first_token_seconds_${part}`))
        .filter((line) => line.includes('{target="local/local-echo"'))
        .map((line) => Number(line.split(' ').at(-1)));
    };
    const chat = async (stream: boolean): Promise<void> => {
      const json = { model: 'local-echo', stream, messages: [{ role: 'user', content: 'Good morning' }] };
      const answer = await setting.call('POST', '/v1/chat/completions', {
        json,
        headers: { authorization: `Bearer ${setting.adminKey}` },
      });
      expectStatus(answer, 200);
    };
    const [before = 0] = await samples('count');
    await chat(false);
    for (let request = 0; request < 3; request++) await chat(true);
    expect(await samples('count')).toEqual([before + 3]);
    const buckets = await samples('bucket');
    expect(buckets).toEqual(buckets.toSorted((one, other) => one - other));
    expect(buckets.at(-1)).toBe(before + 3);
    const [sum = 0] = await samples('sum');
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThan((before + 3) * 60);
  });

  test('has every metric that a dashboard or an alert names', async () => {
    const deploy = join(import.meta.dir, '../../deploy');
    const dashboards = readdirSync(join(deploy, 'grafana')).map((name) => `grafana/${name}`);
    expect(dashboards.length).toBeGreaterThan(5);
    const files = [...dashboards, 'prometheus/alerts.yaml'];
    const texts = files.map((file) => readFileSync(join(deploy, file), 'utf8'));
    const named = new Set(texts.flatMap((text) => text.match(/\b(?:atrium|process)_[a-z_]+/g) ?? []));
    const { text } = await setting.call('GET', '/metrics');
    const present = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
    const absent = [...named].filter((name) => !present.has(name.replace(/_(bucket|sum|count)$/, '')));
    // These two are there where a search server is configured.
    const mirror = ['outbox_documents', 'outbox_lag_seconds'];
    expect(absent.sort()).toEqual(mirror.map((name) => `atrium_search_${name}`));
  });

  test('has the states of the backing services, and a bucket at each bound that is promised', async () => {
    const text = await eventually('the states', async () => {
      const answer = await setting.call('GET', '/metrics');
      return answer.text.includes('atrium_backing_service_state{') && answer.text;
    });
    expect(text).toContain('atrium_backing_service_state{service="postgres",state="ready"} 1');
    expect(text).toContain('atrium_backing_service_state{service="postgres",state="down"} 0');
    expect(text).toMatch(/^atrium_jobs_waiting\{kind="documents.delete-object"\} \d+$/m);
    for (const bound of ['1.5', '2', '2.5', '11', '22', '600']) expect(text).toContain(`le="${bound}"`);
  });

  test('has the version, and what models have used', async () => {
    const sample = async (name: string): Promise<number> => {
      const { text } = await setting.call('GET', '/metrics');
      const line = text.split('\n').find((each) => each.startsWith(`${name} `));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    const { version } = await Bun.file(join(import.meta.dir, '../../package.json')).json();
    expect(await sample(`atrium_build_info{version="${version}",bun="${Bun.version}"}`)).toBe(1);
    const names = ['input', 'output'].map(
      (type) => `atrium_model_tokens_total{model="local-echo",type="${type}"}`,
    );
    const before = await Promise.all(names.map(sample));
    const answer = await setting.call('POST', '/v1/chat/completions', {
      json: { model: 'local-echo', messages: [{ role: 'user', content: 'Good morning' }] },
      headers: { authorization: `Bearer ${setting.adminKey}` },
    });
    const { usage } = bodyOf<{ usage: { prompt_tokens: number; completion_tokens: number } }>(answer, 200);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
    const used = [usage.prompt_tokens, usage.completion_tokens];
    expect(await Promise.all(names.map(sample))).toEqual(used.map((count, at) => (before[at] ?? 0) + count));
    const { text } = await setting.call('GET', '/metrics');
    expect(text).toMatch(/^atrium_model_cost_total\{model="local-echo"\} 0$/m);
  });

  test("has the free bytes of the data folder, and the database's pools", async () => {
    const text = await eventually('the free bytes', async () => {
      const answer = await setting.call('GET', '/metrics');
      return /^atrium_data_folder_free_bytes \d/m.test(answer.text) && answer.text;
    });
    const figure = (name: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')
          .at(-1),
      );
    expect(figure('atrium_data_folder_free_bytes')).toBeGreaterThan(0);
    expect(figure('atrium_data_folder_disk_bytes')).toBeGreaterThan(figure('atrium_data_folder_free_bytes'));
    for (const pool of ['main', 'search']) {
      expect(figure(`atrium_database_connections_max{pool="${pool}"}`)).toBeGreaterThan(3);
      expect(figure(`atrium_database_connections_busy{pool="${pool}"}`)).toBeGreaterThanOrEqual(0);
      expect(figure(`atrium_database_waiting{pool="${pool}"}`)).toBeGreaterThanOrEqual(0);
    }
  });

  test('names routes, never paths: no id, name or workspace of a request is in it', async () => {
    const { library } = await setting.people.person();
    const record = await library.stored();
    await setting.call('GET', `/unknown/${record.id}`);
    const { text } = await setting.call('GET', '/metrics');
    for (const secret of [record.id, record.name, `"/v1/${setting.workspace}`])
      expect(text).not.toContain(secret);
  });
});

describe('a request id', () => {
  test('comes back as it was sent, or as a new one', async () => {
    const sent = `trace-${crypto.randomUUID()}`;
    for (const path of ['/healthz', '/nope', `/v1/${setting.workspace}/trash`]) {
      const answer = await setting.call('GET', path, { key: key.key, headers: { 'x-request-id': sent } });
      expect(answer.headers.get('x-request-id')).toBe(sent);
    }
    const ids = await Promise.all(
      Array.from({ length: 10 }, async () =>
        (await setting.call('GET', '/healthz')).headers.get('x-request-id'),
      ),
    );
    expect(new Set(ids).size).toBe(10);
  });

  test('that does not fit into a log line is replaced', async () => {
    for (const unfit of ['a b', '{"level":"error"}', 'x'.repeat(129), '<script>', 'é']) {
      const answer = await setting.call('GET', '/healthz', { headers: { 'x-request-id': unfit } });
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('the access log', () => {
  test('has one JSON line a request: method, route, status, time, request id and key id', async () => {
    const id = crypto.randomUUID();
    const path = `/v1/metadata/${setting.workspace}/no-such-document/detail`;
    expectStatus(await setting.call('GET', path, { key: key.key, headers: { 'x-request-id': id } }), 404);
    const [line, ...more] = await linesOf(id);
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      method: 'GET',
      route: '/v1/metadata/{workspace_id}/{document}/detail',
      path,
      status: 404,
      ms: expect.any(Number),
      request_id: id,
      key_id: key.id,
    });
    expect(Date.parse(String(line?.['time']))).toBeGreaterThan(0);
  });

  test("names the key's workspace, the client's address and the model that was asked for", async () => {
    const call = async (path: string, json: object): Promise<Line | undefined> => {
      const id = crypto.randomUUID();
      const headers = { 'x-request-id': id, authorization: `Bearer ${setting.adminKey}` };
      await setting.call('POST', path, { json, headers });
      return (await linesOf(id))[0];
    };
    const whose = { workspace: setting.workspace, client: '127.0.0.1' };
    const messages = [{ role: 'user', content: 'Good morning' }];
    const chat = { model: 'local-echo', messages };
    expect(await call('/v1/chat/completions', chat)).toMatchObject({ ...whose, model: 'local-echo' });
    expect(await call('/chat/completions', { ...chat, stream: true })).toMatchObject({
      ...whose,
      model: 'local-echo',
    });
    expect(await call(`/${setting.workspace}/v1/embeddings`, { input: 'hello' })).toMatchObject({
      ...whose,
      model: expect.stringContaining('local-'),
    });
    // What no catalogue has may be a secret that was pasted by mistake.
    for (const model of ['a"\n\\b', setting.adminKey, 'a secret of no form']) {
      const line = await call('/v1/chat/completions', { ...chat, model });
      expect([line?.['status'], line?.['model']]).toEqual([404, undefined]);
    }
    const id = crypto.randomUUID();
    await setting.call('GET', '/healthz', { headers: { 'x-request-id': id } });
    const [probe] = await linesOf(id);
    expect([probe?.['client'], probe?.['workspace'], probe?.['model']]).toEqual([
      '127.0.0.1',
      undefined,
      undefined,
    ]);
  });

  test('has a line for refused and unknown requests too', async () => {
    const CASES: [path: string, sentKey: string | undefined, status: number][] = [
      ['/nope', undefined, 404],
      ['/nope&authorization=secret?authorization=secret', undefined, 404],
      [`/v1/${setting.workspace}/trash`, undefined, 422],
      [`/v1/${setting.workspace}/trash`, 'wrong', 401],
      ['/v1/other/trash', key.key, 403],
    ];
    for (const [path, sentKey, status] of CASES) {
      const id = crypto.randomUUID();
      expectStatus(
        await setting.call('GET', path, { key: sentKey, headers: { 'x-request-id': id } }),
        status,
      );
      const [line, ...more] = await linesOf(id);
      expect(more).toEqual([]);
      expect(line).toMatchObject({ method: 'GET', status, request_id: id });
      // What was found nowhere has no route that would tell.
      expect(line?.['path']).toBe(status === 404 ? path.replace('=secret', '=…').split('?')[0] : undefined);
    }
  });

  test('holds no secret: no key, cookie, query, signature, name or body', async () => {
    const { library, key: personKey } = await setting.people.person();
    const word = crypto.randomUUID().slice(0, 18);
    const descriptor = await library.descriptor();
    const record = await library.stored({ name: `${word}.txt`, summary: word, slots: { word } });
    await library.link(record.id);
    await setting.call('GET', `/v1/${setting.workspace}/trash?cursor=${word}`, {
      key: personKey,
      headers: { cookie: `atrium_session=${word}` },
    });
    const marker = crypto.randomUUID();
    await setting.call('GET', '/healthz', { headers: { 'x-request-id': marker } });
    await linesOf(marker);
    const log = setting.service.child.output();
    const { policy = 'none', signature = 'none' } = descriptor.fields;
    for (const secret of [personKey, setting.adminKey, word, policy, signature, 'X-Amz-Signature'])
      expect(log).not.toContain(secret);
  });
});
