// deploy/compose.yaml and compose.scaled.yaml, as Docker Compose reads them, and with the real servers that can be had here.

import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'nats';
import type { Setting } from '../../src/core/settings-reader.ts';
import { SETTINGS } from '../../src/settings.ts';
import { haproxy, startBalancer } from '../support/balancer.ts';
import { eventually, freePort, startChild } from '../support/child.ts';
import { parseDockerfile, textsOf } from '../support/dockerfile.ts';
import { freshFolder } from '../support/folders.ts';
import { findGoProgram, missingGoProgram } from '../support/go-programs.ts';
import { startRealStore } from '../support/object-stores.ts';
import { once } from '../support/once.ts';
import { findServer, SERVERS } from '../support/servers.ts';

const DEPLOY = resolve(import.meta.dir, '../../deploy');
const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');
const missing = missingGoProgram('compose-check');

type Mounted = { type: string; source?: string; target: string };
type Service = {
  image: string;
  build?: { context: string };
  command: string[] | null;
  environment?: Record<string, string | null>;
  secrets?: { source: string; target: string }[];
  volumes?: Mounted[];
  networks: Record<string, unknown>;
  ports?: { host_ip?: string; target: number }[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  deploy?: { replicas?: number };
};
type Project = {
  services: Record<string, Service>;
  secrets: Record<string, { file?: string; environment?: string; external?: boolean }>;
  networks: Record<string, { internal?: boolean }>;
};

async function load(...files: string[]): Promise<Project> {
  const command = [findGoProgram('compose-check') ?? '', ...files.map((file) => join(DEPLOY, file))];
  const child = Bun.spawn(command, { stdio: ['ignore', 'pipe', 'pipe'], env: {} });
  const [text, mistake] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(mistake);
  return JSON.parse(text);
}
const projects = {
  'compose.yaml': once(() => load('compose.yaml')),
  'compose.scaled.yaml': once(() => load('compose.yaml', 'compose.scaled.yaml')),
};

const settingOf = (variable: string): Setting | undefined => {
  const table: Record<string, Setting> = SETTINGS;
  const secret = table[variable.replace(/_FILE$/, '')];
  return variable.endsWith('_FILE') && secret?.secret === true ? secret : table[variable];
};

describe.each(Object.entries(projects))('%s', (_name, project) => {
  test.skipIf(missing !== undefined)('every setting is one of the service', async () => {
    const names = Object.keys((await project()).services['atrium']?.environment ?? {});
    expect(names.length).toBeGreaterThan(8);
    expect(names.filter((name) => settingOf(name) === undefined)).toEqual([]);
  });

  test.skipIf(missing !== undefined)(
    'every image has a version, of its own or in its Dockerfile',
    async () => {
      for (const [name, { image, build }] of Object.entries((await project()).services)) {
        expect([name, image]).toEqual([name, expect.stringMatching(/^[\w./-]+:[\w.-]*\d+\.?\d+[\w.-]*$/)]);
        if (build === undefined) continue;
        for (const { from } of parseDockerfile(read(join(build.context, 'Dockerfile'))))
          expect([name, from]).toEqual([name, expect.stringMatching(/^[\w./-]+:\d+\.\d+\.\d+[\w.-]*$/)]);
      }
    },
  );

  test.skipIf(missing !== undefined)(
    'every secret comes from a file, and reaches who needs it alone',
    async () => {
      const { services, secrets } = await project();
      const secretNames = /PASSWORD|SECRET|_KEY|TOKEN|URL$|CREDS/;
      for (const [name, { environment, command }] of Object.entries(services)) {
        for (const [variable, value] of Object.entries(environment ?? {})) {
          const isSecret =
            name === 'atrium' ? settingOf(variable)?.secret === true : secretNames.test(variable);
          if (isSecret || variable.endsWith('_FILE'))
            expect([name, variable, value]).toEqual([
              name,
              expect.stringMatching(/_FILE$/),
              expect.stringMatching(/^\/run\/secrets\//),
            ]);
        }
        const mounted = (services[name]?.secrets ?? []).map(({ target }) => target);
        const used = JSON.stringify([environment, command, name.startsWith('nats') ? read('nats.conf') : '']);
        const named = (used.match(/run\/secrets\/[\w.-]+/g) ?? []).map((path) => `/${path}`);
        expect([name, [...new Set(named)].sort()]).toEqual([name, mounted.toSorted()]);
      }
      for (const [name, secret] of Object.entries(secrets))
        expect([name, secret.file]).toEqual([name, expect.stringContaining(`secrets/${name}`)]);
    },
  );

  test.skipIf(missing !== undefined)('every container is hardened, checked, and waited for', async () => {
    const { services } = await project();
    for (const [name, service] of Object.entries(services)) {
      expect([name, service]).toMatchObject([
        name,
        { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      ]);
      // The check of the service is in its image.
      if (name !== 'atrium') expect([name, service.healthcheck?.test[0]]).toEqual([name, 'CMD']);
    }
    const waited = Object.entries(services['atrium']?.depends_on ?? {});
    expect(waited.map(([name]) => name).sort()).toEqual([
      'nats-1',
      'nats-2',
      'nats-3',
      'postgres',
      'search',
      'store',
    ]);
    expect(waited.every(([, { condition }]) => condition === 'service_healthy')).toBe(true);
  });

  test.skipIf(missing !== undefined)(
    'only the service, its balancer and the store can be reached, from this machine',
    async () => {
      const { services, networks } = await project();
      expect(networks['backing']?.internal).toBe(true);
      const published = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0);
      expect(published.flatMap(([, { ports = [] }]) => ports.map(({ host_ip }) => host_ip))).toEqual([
        '127.0.0.1',
        '127.0.0.1',
      ]);
      const inFront = Object.keys(services).filter((name) => 'front' in (services[name]?.networks ?? {}));
      expect(inFront.filter((name) => !['atrium', 'balancer', 'store'].includes(name))).toEqual([]);
    },
  );

  test.skipIf(missing !== undefined)('a container has the time to end that its program takes', async () => {
    const { environment = {}, stop_grace_period = '' } = (await project()).services['atrium'] ?? {};
    const seconds = Number.parseInt(stop_grace_period, 10);
    const wanted =
      Number(environment['SHUTDOWN_DELAY_MS'] ?? 0) + Number(SETTINGS.SHUTDOWN_TIMEOUT_MS.default);
    expect(seconds * 1000).toBeGreaterThan(wanted);
  });
});

test.skipIf(missing !== undefined)(
  'replicas have volumes of their own, and the balancer has the port',
  async () => {
    const { services } = await projects['compose.scaled.yaml']();
    const { deploy, ports = [], volumes = [] } = services['atrium'] ?? {};
    expect([deploy?.replicas, ports]).toEqual([3, []]);
    expect(volumes.map(({ source, target }) => [source, target])).toEqual([[undefined, '/data']]);
    expect(services['balancer']?.ports?.map(({ target }) => target)).toEqual([3000]);
  },
);

test('the store is built from the version that the tests run against', () => {
  const steps = textsOf(parseDockerfile(read('store/Dockerfile'))[0], 'RUN').join();
  expect(steps).toContain(`${SERVERS.minio.module}@${SERVERS.minio.version}`);
});

/** deploy/ in a folder of its own, with its secrets. */
const deployed = once(async () => {
  const folder = freshFolder();
  for (const name of ['secrets.sh', 'nats.conf', 'haproxy.cfg'])
    cpSync(join(DEPLOY, name), join(folder, name));
  expect(await startChild(['sh', join(folder, 'secrets.sh')]).exited).toBe(0);
  return folder;
});

test('secrets.sh makes every secret of the files, for this user alone, and replaces none', async () => {
  const folder = join(await deployed(), 'secrets');
  const names = [...read('compose.yaml').matchAll(/file: \.\/secrets\/([\w.-]+)/g)].map(
    ([, name = '']) => name,
  );
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !existsSync(join(folder, name)))).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const contents = () =>
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
  const before = contents();
  expect(await startChild(['sh', join(await deployed(), 'secrets.sh')]).exited).toBe(0);
  expect(contents()).toEqual(before);
  const secret = (name: string) => readFileSync(join(folder, name), 'utf8');
  for (const [name, part] of [
    ['database-url', 'postgres-password'],
    ['nats-url', 'nats-password'],
    ['search.toml', 'search-key'],
  ] as const)
    expect(secret(name)).toContain(secret(part));
  for (const name of ['DATABASE_URL', 'NATS_URL', 'BOOTSTRAP_API_KEY'] as const) {
    const file = name === 'BOOTSTRAP_API_KEY' ? 'first-key' : name.toLowerCase().replace('_', '-');
    expect([name, SETTINGS[name].kind.parse(secret(file))]).toEqual([name, secret(file)]);
  }
});

/** Runs the check of a container, with its port replaced by the one at which the server listens here. */
async function check(service: string, port: number): Promise<number> {
  const command =
    (await projects['compose.scaled.yaml']()).services[service]?.healthcheck?.test.slice(1) ?? [];
  const here = command.map((word) => word.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
  return startChild(here).exited;
}

const natsServer = findServer('nats-server');
test.skipIf(missing !== undefined || natsServer === undefined || Bun.which('wget') === null)(
  'the NATS servers take configuration and secrets, find one another, and sync before they acknowledge',
  async () => {
    const names = ['nats-1', 'nats-2', 'nats-3'];
    const ports = new Map(
      names.map((name) => [name, { clients: freePort(), monitor: freePort(), routes: freePort() }]),
    );
    const portsOf = (name: string) => ports.get(name) ?? { clients: 0, monitor: 0, routes: 0 };
    // The configuration names the secrets by a path from its own folder, /etc/nats.
    const root = freshFolder();
    for (const folder of ['etc/nats', 'run/secrets']) mkdirSync(join(root, folder), { recursive: true });
    const here = (text: string, kind: 'clients' | 'routes') =>
      text.replaceAll(/(nats-\d):\d+/g, (_, name: string) => `127.0.0.1:${portsOf(name)[kind]}`);
    const secrets = join(await deployed(), 'secrets');
    for (const name of ['nats.conf', 'nats-url'])
      writeFileSync(
        join(root, 'run/secrets', name),
        here(readFileSync(join(secrets, name), 'utf8'), name === 'nats-url' ? 'clients' : 'routes'),
      );
    // Other ports and folders, on loopback; everything else is as deployed.
    const children = names.map((name) => {
      const { clients, monitor, routes } = portsOf(name);
      const text = read('nats.conf')
        .replace('port: 4222', `listen: "127.0.0.1:${clients}"`)
        .replace('http_port: 8222', `http: "127.0.0.1:${monitor}"`)
        .replace('port: 6222', `listen: "127.0.0.1:${routes}"`)
        .replace('store_dir: /data', `store_dir: ${JSON.stringify(join(root, name))}`);
      const file = join(root, `etc/nats/${name}.conf`);
      writeFileSync(file, text);
      return startChild([natsServer ?? '', '--config', file, '--name', name]);
    });
    try {
      for (const name of names)
        await eventually(
          `${name} to be healthy`,
          async () => (await check(name, portsOf(name).monitor)) === 0,
        );
      const { monitor, clients } = portsOf('nats-1');
      const varz = await (await fetch(`http://127.0.0.1:${monitor}/varz`)).json();
      expect(varz).toMatchObject({ auth_required: true, jetstream: { config: { sync_always: true } } });
      await expect(connect({ servers: `127.0.0.1:${clients}` })).rejects.toThrow();
      const { servers, user, pass } = readNatsUrl(readFileSync(join(root, 'run/secrets/nats-url'), 'utf8'));
      const connection = await connect({ servers, user, pass });
      try {
        // Only a leader of all three places a stream with three copies.
        await eventually('a stream with three copies', () => {
          const stream = { name: 'TRIAL', subjects: ['trial'], num_replicas: 3 };
          return connection
            .jetstreamManager()
            .then((manager) => manager.streams.add(stream))
            .then(
              () => true,
              () => false,
            );
        });
        expect(await connection.jetstream().publish('trial')).toMatchObject({ stream: 'TRIAL', seq: 1 });
      } finally {
        await connection.close();
      }
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
    expect(await check('nats-1', portsOf('nats-1').monitor)).not.toBe(0);
  },
);

/** The servers, user and password of `nats://user:password@host:port,…`. */
function readNatsUrl(text: string) {
  const urls = text.split(',').map((each) => new URL(each));
  return {
    servers: urls.map(({ host }) => host),
    user: urls[0]?.username ?? '',
    pass: urls[0]?.password ?? '',
  };
}

test.skipIf(missing !== undefined || findServer('minio') === undefined || Bun.which('wget') === null)(
  'the check of the store notices whether it serves',
  async () => {
    const store = await startRealStore('minio');
    const port = Number(new URL(store.environment['S3_ENDPOINT'] ?? '').port);
    try {
      await eventually('the store to be healthy', async () => (await check('store', port)) === 0);
      await store.kill();
      expect(await check('store', port)).not.toBe(0);
    } finally {
      await store.stop();
    }
  },
);

test.skipIf(missing !== undefined || Bun.which('curl') === null)(
  'the check of Meilisearch asks its health',
  async () => {
    await using server = servesOnly('/health', 200);
    expect(await check('search', server.port)).toBe(0);
    server.status = 503;
    expect(await check('search', server.port)).not.toBe(0);
  },
);

/** Of a check that hangs (src/http/readiness.ts). */
const READYZ_MS_MAX = 2500;

/** A fake of a server: one path answers with a status, everything else with its port. */
function servesOnly(path: string, status: number) {
  const state = { status, asked: 0, port: freePort(), delayMs: 0, answered: 0 };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: state.port,
    async fetch(request) {
      const isAsked = new URL(request.url).pathname === path;
      state.asked += isAsked ? 0 : 1;
      if (isAsked) {
        await Bun.sleep(state.delayMs);
        state.answered += 1;
      }
      return new Response(`${state.port}`, { status: isAsked ? state.status : 200 });
    },
  });
  return Object.assign(state, { [Symbol.asyncDispose]: () => server.stop(true) });
}

test.skipIf(haproxy === undefined || Bun.which('wget') === null)(
  'the balancer sends requests to replicas that are ready, and to no others',
  async () => {
    expect(await startChild([haproxy ?? '', '-c', '-f', join(DEPLOY, 'haproxy.cfg')]).exited).toBe(0);
    // Fakes of replicas: all that counts here is what they say at /readyz.
    await using ready = servesOnly('/readyz', 200);
    await using ending = servesOnly('/readyz', 200);
    await using balancer = await startBalancer({ a: ready.port, b: ending.port });
    const answeredBy = () =>
      fetch(`${balancer.url}/`).then(
        (answer) => (answer.ok ? answer.text() : String(answer.status)),
        () => 'refused',
      );
    const both = async () =>
      new Set([await answeredBy(), await answeredBy(), await answeredBy(), await answeredBy()]);
    const haveBoth = async () => {
      const by = await both();
      return by.has(`${ready.port}`) && by.has(`${ending.port}`);
    };
    await eventually('both to get requests', haveBoth);
    // As it takes while a backing service hangs that the others do without.
    ready.delayMs = READYZ_MS_MAX;
    const looks = ready.answered + 3;
    await eventually('slow looks', () => ready.answered >= looks);
    await eventually('both to get requests all the same', haveBoth);
    ready.delayMs = 0;
    ending.status = 503;
    await eventually('one to get none', async () => [...(await both())].join() === `${ready.port}`);
    const before = ending.asked;
    for (let count = 0; count < 20; count++) expect(await answeredBy()).toBe(`${ready.port}`);
    expect(ending.asked).toBe(before);
    ready.status = 503;
    await eventually('nobody to get any', async () => (await answeredBy()) === '503');
  },
);
