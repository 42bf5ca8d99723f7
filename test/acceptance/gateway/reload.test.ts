// Models that change while the service runs: the file is read again on SIGHUP, and no stream notices.

import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { eventually, freePort, startChild } from '../../support/child.ts';
import { type ModelsFile, type RunningGateway, startGateway } from '../../support/gateway.ts';
import { startMockUpstream } from '../../support/mock-upstream.ts';
import { once } from '../../support/once.ts';
import { BOOTSTRAP_KEY, startService } from '../../support/service.ts';
import { createClient, errorOf } from './client.ts';

const modelsFile =
  (...names: string[]) =>
  (mockUrl: string): ModelsFile => ({
    upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
    models: Object.fromEntries(
      names.map((name) => [name, { targets: [{ upstream: 'mock', model: `${name}+key=${name}` }] }]),
    ),
  });

async function listed(url: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/models`, {
    headers: { authorization: `Bearer ${BOOTSTRAP_KEY}`, connection: 'close' },
  });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => id !== 'local-multilingual-e1');
}

/** As every process lists them. */
const listedEverywhere = async (url: string): Promise<string[]> => {
  const lists = await Promise.all(Array.from({ length: 12 }, async () => (await listed(url)).join()));
  return [...new Set(lists)];
};

const eventuallyListed = (url: string, names: string[]) =>
  eventually(`the models ${names}`, async () => String(await listedEverywhere(url)) === names.join());

for (const processes of ['1', '2']) {
  describe(`${processes} process(es)`, () => {
    const start = once(() =>
      startGateway(modelsFile('ok'), { PROCESSES: processes, PORT: String(freePort()) }),
    );
    afterAll(async () => (await start())[Symbol.asyncDispose]());
    /** The gateway of both tests, with models as each finds them. */
    const prepare = async (): Promise<RunningGateway> => {
      const gateway = await start();
      gateway.writeModels(modelsFile('ok', 'trickle')(gateway.mock.url));
      gateway.service.child.kill('SIGHUP');
      await eventuallyListed(gateway.url, ['ok', 'trickle']);
      return gateway;
    };

    test('serve new models at SIGHUP, and streams that run come to their end', async () => {
      const gateway = await prepare();
      const client = createClient(gateway);
      const body = { stream: true, mock: { ms: 50, words: 60 } };
      const streams = await Promise.all(
        Array.from({ length: 6 }, () => client.ask('trickle', { body, headers: { connection: 'close' } })),
      );
      const texts = Promise.all(streams.map((each) => each.text()));
      gateway.writeModels(modelsFile('ok', 'slow')(gateway.mock.url));
      gateway.service.child.kill('SIGHUP');
      await eventuallyListed(gateway.url, ['ok', 'slow']);
      expect((await client.ask('trickle')).status).toBe(404);
      expect((await client.ask('slow')).status).toBe(200);
      for (const text of await texts) {
        expect(text).toEndWith('data: [DONE]\n\n');
        expect(text.match(/"content"/g)?.length).toBeGreaterThanOrEqual(60);
      }
    });

    test('refuse a file with a mistake, say where it is, and go on with the one they have', async () => {
      const gateway = await prepare();
      const client = createClient(gateway);
      gateway.writeModels('upstreams: {}\nmodels:\n  gone:\n    targets: [{upstream: nobody, model: x}]\n');
      gateway.service.child.kill('SIGHUP');
      await eventually('the mistake in the log', () =>
        gateway.service.child
          .output()
          .includes('line 4: models.gone.targets[0] names the upstream nobody, which is not in the file'),
      );
      expect(await listedEverywhere(gateway.url)).toEqual(['ok,trickle']);
      expect((await client.ask('ok')).status).toBe(200);
      // The process that is asked need not be the one that has logged it.
      await eventually('the mistake in /readyz', async () => {
        const ready = await fetch(`${gateway.url}/readyz`, { headers: { connection: 'close' } });
        expect(ready.status).toBe(200);
        return (await ready.text()).includes('line 4');
      });
      gateway.writeModels(modelsFile('ok', 'gzip')(gateway.mock.url));
      gateway.service.child.kill('SIGHUP');
      await eventuallyListed(gateway.url, ['ok', 'gzip']);
    });
  });
}

test('of many signals in a row the last one counts', async () => {
  await using gateway = await startGateway(modelsFile('ok'));
  for (let round = 0; round < 20; round++) {
    gateway.writeModels(modelsFile('ok', `ok+key=round-${round}`)(gateway.mock.url));
    gateway.service.child.kill('SIGHUP');
    await Bun.sleep(round % 3);
  }
  await eventuallyListed(gateway.url, ['ok', 'ok+key=round-19']);
});

test('a start by `bun run start` is told, too', async () => {
  await using mock = await startMockUpstream();
  const dataDir = join('/tmp', `atrium-start-${crypto.randomUUID()}`);
  const path = `${dataDir}.json`;
  await Bun.write(path, JSON.stringify(modelsFile('ok')(mock.url)));
  const child = startChild([process.execPath, 'run', 'start'], {
    directory: join(import.meta.dir, '../../..'),
    detached: true,
    environment: {
      PORT: '0',
      DATA_DIR: dataDir,
      MODELS_CONFIG: path,
      LOG_FORMAT: 'json',
      BOOTSTRAP_WORKSPACE: 'acme',
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
    },
  });
  try {
    const url = await eventually(
      'the service to listen',
      () => /listens on (\S+)\s/.exec(child.output())?.[1],
    );
    expect(await listed(url)).toEqual(['ok']);
    await Bun.write(path, JSON.stringify(modelsFile('ok', 'slow')(mock.url)));
    process.kill(child.pid, 'SIGHUP');
    await eventuallyListed(url, ['ok', 'slow']);
  } finally {
    await child.stop();
    Bun.spawnSync(['rm', '-rf', dataDir, path]);
  }
});

test('a mistake at the start ends it, with the line', async () => {
  const path = join('/tmp', `atrium-models-${crypto.randomUUID()}.yaml`);
  await Bun.write(path, 'models:\n  m: {targets: []}\n');
  try {
    await expect(startService({ environment: { MODELS_CONFIG: path } })).rejects.toThrow(
      /line 2: models\.m\.targets must name at least one/,
    );
  } finally {
    Bun.spawnSync(['rm', '-f', path]);
  }
});

const AS_CALLER = { authorization: `Bearer ${BOOTSTRAP_KEY}` };

describe('the short way', () => {
  test('lists what the upstream lists, and asks it', async () => {
    await using mock = await startMockUpstream();
    await using service = await startService({
      environment: { OPENAI_BASE_URL: `${mock.url}/v1`, OPENAI_API_KEY: 'sk-short' },
    });
    const theirs = (await (await fetch(`${mock.url}/v1/models`)).json()) as {
      data: { id: string; owned_by: string }[];
    };
    const ours = (await (
      await fetch(`${service.url}/v1/models`, { headers: AS_CALLER })
    ).json()) as typeof theirs;
    for (const { id, owned_by } of theirs.data)
      expect(ours.data).toContainEqual(expect.objectContaining({ id, owned_by }));
    const [first] = theirs.data;
    const client = createClient({ url: service.url, key: BOOTSTRAP_KEY });
    const answer = await client.ask(first?.id ?? '', { body: { mock: { fault: 'ok', key: 'short' } } });
    expect(answer.status).toBe(200);
    expect((await mock.state('short')).last[0]?.headers['authorization']).toBe('Bearer sk-short');
  });

  test('with the upstream away the service starts, answers 503, and serves once it is there', async () => {
    const port = freePort();
    await using service = await startService({
      environment: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    });
    const client = createClient({ url: service.url, key: BOOTSTRAP_KEY });
    expect((await errorOf(await client.ask('gpt-4o-mini'))).status).toBe(503);
    expect((await errorOf(await fetch(`${service.url}/v1/models`, { headers: AS_CALLER }))).status).toBe(503);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    const upstream = Bun.serve({
      hostname: '127.0.0.1',
      port,
      fetch: (request) =>
        request.method === 'GET'
          ? Response.json({ object: 'list', data: [{ id: 'late', object: 'model' }] })
          : Response.json({ id: 'x', object: 'chat.completion', choices: [] }),
    });
    try {
      await eventually('the model', async () => (await client.ask('late')).status === 200);
    } finally {
      await upstream.stop(true);
    }
  });
});
