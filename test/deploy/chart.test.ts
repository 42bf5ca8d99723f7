// The Helm chart: what it makes is valid for Kubernetes, keeps to what it promises, and refuses values that cannot work.

import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Setting } from '../../src/core/settings-reader.ts';
import { SETTINGS } from '../../src/settings.ts';
import { startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { once } from '../support/once.ts';
import { findServer } from '../support/servers.ts';

const CHART = resolve(import.meta.dir, '../../deploy/helm/atrium');
const read = (path: string): string => readFileSync(join(CHART, path), 'utf8');
const [helm, validator] = [findServer('helm'), findServer('kubectl-validate')];
const missing = helm === undefined || validator === undefined;
if (missing && process.env['REQUIRE_SERVERS'] === '1')
  throw new Error('helm and kubectl-validate are required, but not installed: bun run servers');

/** The oldest version that the chart names, and the newest whose schemas there are. */
const KUBERNETES = ['1.27', '1.30'];

type Container = {
  name: string;
  image: string;
  env: { name: string; value: string }[];
  securityContext: unknown;
  volumeMounts?: { name: string; mountPath: string }[];
  startupProbe?: unknown;
  livenessProbe?: unknown;
  readinessProbe?: unknown;
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
};
type PodSpec = {
  containers: Container[];
  volumes: { name: string; projected?: unknown; secret?: unknown; emptyDir?: unknown }[];
  securityContext: Record<string, unknown>;
  terminationGracePeriodSeconds: number;
  automountServiceAccountToken: boolean;
};
type Resource = {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: Record<string, unknown> & {
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  };
  data?: Record<string, string>;
};
type Rendered = { text: string; resources: Resource[] };

/** Runs helm; the text that it writes. Throws what it refuses. */
async function runHelm(...words: string[]): Promise<string> {
  const child = Bun.spawn([helm ?? '', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: freshFolder() },
  });
  const [text, mistake] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(text + mistake);
  return text;
}

async function render(...options: string[]): Promise<Rendered> {
  const text = await runHelm('template', 'trial', CHART, '--kube-version', '1.30.0', ...options);
  const resources = parseAllDocuments(text).map((document) => document.toJS() as Resource);
  return { text, resources: resources.filter((each) => each !== null) };
}

const valuesOf = (name: string): string[] => ['--values', join(CHART, `ci/${name}-values.yaml`)];
const KINDS = { default: [], embedded: valuesOf('embedded'), scaled: valuesOf('scaled') };
const rendered = {
  default: once(() => render(...KINDS.default)),
  embedded: once(() => render(...KINDS.embedded)),
  scaled: once(() => render(...KINDS.scaled)),
};
const kindsIn = ({ resources }: Rendered): string[] => resources.map(({ kind }) => kind);
const workload = ({ resources }: Rendered): Resource => {
  const found = resources.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  if (found === undefined) throw new Error('neither a Deployment nor a StatefulSet');
  return found;
};

describe.each(['default', 'embedded', 'scaled'] as const)('with %s values', (name) => {
  test.skipIf(missing)('helm lints the chart, and Kubernetes knows everything that it makes', async () => {
    await runHelm('lint', '--strict', CHART, ...KINDS[name]);
    const file = join(freshFolder(), 'rendered.yaml');
    writeFileSync(file, (await rendered[name]()).text);
    for (const version of KUBERNETES) {
      const child = startChild([validator ?? '', file, '--version', version]);
      expect([await child.exited, child.output()]).toEqual([0, expect.stringContaining('OK')]);
    }
  });

  test.skipIf(missing)(
    'pods run without root, without capabilities, on a root file system that is read-only',
    async () => {
      const { resources } = await rendered[name]();
      const pods = [
        workload(await rendered[name]()).spec.template.spec,
        ...resources.filter(({ kind }) => kind === 'Pod').map(({ spec }) => spec as unknown as PodSpec),
      ];
      expect(pods).toHaveLength(2);
      for (const pod of pods) {
        expect(pod.automountServiceAccountToken).toBe(false);
        expect(pod.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        for (const { securityContext, image } of pod.containers) {
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(image).toMatch(/:\d+\.\d+\.\d+$/);
        }
      }
    },
  );

  test.skipIf(missing)('the service gets settings that it knows, and its secrets from files', async () => {
    const pod = workload(await rendered[name]()).spec.template.spec;
    const { env, volumeMounts = [] } = pod.containers[0] as Container;
    const table: Record<string, Setting> = SETTINGS;
    for (const { name: variable, value } of env) {
      const setting = table[variable];
      if (setting === undefined) {
        expect([variable, value]).toEqual([
          expect.stringMatching(/_FILE$/),
          `/run/secrets/atrium/${variable.replace(/_FILE$/, '')}`,
        ]);
        continue;
      }
      expect([variable, setting.secret]).toEqual([variable, undefined]);
      expect([variable, setting.kind.parse(value)]).not.toEqual([variable, undefined]);
    }
    const withFiles = env.some(({ name: variable }) => variable.endsWith('_FILE'));
    expect(volumeMounts.some(({ mountPath }) => mountPath === '/run/secrets/atrium')).toBe(withFiles);
    for (const { name: volume } of volumeMounts)
      if (volume !== 'data') expect(pod.volumes.map((each) => each.name)).toContain(volume);
  });

  test.skipIf(missing)(
    'probes ask /healthz and /readyz, and the end has more time than the service takes',
    async () => {
      const pod = workload(await rendered[name]()).spec.template.spec;
      const container = pod.containers[0] as Container;
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      });
      const environmentValue = (variable: string) =>
        Number(container.env.find((each) => each.name === variable)?.value);
      const wantedMs = environmentValue('SHUTDOWN_DELAY_MS') + environmentValue('SHUTDOWN_TIMEOUT_MS');
      expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(wantedMs);
    },
  );

  test.skipIf(missing)('the service, the budget and the policy select the pods, and no others', async () => {
    const { resources } = await rendered[name]();
    const { labels } = workload(await rendered[name]()).spec.template.metadata;
    const selectors = resources.flatMap(({ kind, spec }) => {
      const { selector, podSelector } = (spec ?? {}) as {
        selector?: { matchLabels?: Record<string, string> } & Record<string, unknown>;
        podSelector?: { matchLabels: Record<string, string> };
      };
      if (kind === 'Service') return [selector as Record<string, string>];
      return [selector?.matchLabels, podSelector?.matchLabels].filter((each) => each !== undefined);
    });
    expect(selectors.length).toBeGreaterThan(2);
    for (const selector of selectors) {
      expect(labels).toMatchObject(selector);
      const others = resources
        .filter(({ kind }) => kind === 'Pod')
        .map(({ metadata }) => metadata.labels ?? {});
      for (const other of others)
        expect(Object.entries(selector).every(([key, value]) => other[key] === value)).toBe(false);
    }
  });
});

test.skipIf(missing)(
  'embedded parts have one replica and a volume, and no budget that would keep a node from being drained',
  async () => {
    const { spec, kind } = workload(await rendered.embedded());
    expect([kind, spec['replicas']]).toEqual(['StatefulSet', 1]);
    expect(spec).toMatchObject({
      volumeClaimTemplates: [
        { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '100Gi' } } } },
      ],
    });
    expect(kindsIn(await rendered.embedded())).not.toContain('PodDisruptionBudget');
    const environment = new Map(
      spec.template.spec.containers[0]?.env.map(({ name, value }) => [name, value]),
    );
    expect(environment.get('S3_PUBLIC_ENDPOINT')).toBe('https://files.example.com');
  },
);

test.skipIf(missing)(
  'several replicas are replaced one by one, share the load, and are never all taken away',
  async () => {
    const { spec, kind } = workload(await rendered.scaled());
    expect(kind).toBe('Deployment');
    expect(spec).toMatchObject({ strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
    // The autoscaler has the number.
    expect(spec['replicas']).toBeUndefined();
    expect(kindsIn(await rendered.scaled())).toEqual(
      expect.arrayContaining([
        'HorizontalPodAutoscaler',
        'PodDisruptionBudget',
        'NetworkPolicy',
        'Ingress',
        'ConfigMap',
        'Secret',
      ]),
    );
    const environment = new Map(
      spec.template.spec.containers[0]?.env.map(({ name, value }) => [name, value]),
    );
    expect(environment.get('UPLOAD_BYTES_MAX')).toBe('5368709120');
  },
);

test.skipIf(missing)('extra variables, volumes and certificates reach the container', async () => {
  const values = join(freshFolder(), 'values.yaml');
  writeFileSync(
    values,
    `tls: { caBundle: "-----BEGIN CERTIFICATE-----\\nx" }
extraEnv: [{ name: HTTPS_PROXY, value: "http://proxy:3128" }]
extraVolumes: [{ name: creds, secret: { secretName: nats } }]
extraVolumeMounts: [{ name: creds, mountPath: /run/nats, readOnly: true }]
serviceMonitor: { enabled: true, labels: { release: prometheus } }
prometheusRule: { enabled: true }
`,
  );
  const all = await render('--values', values);
  const { containers, volumes } = workload(all).spec.template.spec;
  const environment = new Map(containers[0]?.env.map(({ name, value }) => [name, value]));
  expect(environment.get('NODE_EXTRA_CA_CERTS')).toBe('/etc/atrium-authorities/ca.crt');
  expect(environment.get('HTTPS_PROXY')).toBe('http://proxy:3128');
  const mounted = containers[0]?.volumeMounts?.map(({ name, mountPath }) => `${name} ${mountPath}`);
  expect(mounted).toEqual(expect.arrayContaining(['authorities /etc/atrium-authorities', 'creds /run/nats']));
  expect(volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(['authorities', 'creds']));
  const bundle = all.resources.find(({ metadata }) => metadata.name.endsWith('-authorities'));
  expect(bundle?.data).toEqual({ 'ca.crt': '-----BEGIN CERTIFICATE-----\nx\n' });
  expect(kindsIn(all)).toEqual(expect.arrayContaining(['ServiceMonitor', 'PrometheusRule']));
  const rules = all.resources.find(({ kind }) => kind === 'PrometheusRule');
  const groups = rules?.spec['groups'];
  expect(groups).toContainEqual(expect.objectContaining({ name: 'atrium' }));
  for (const kind of ['ServiceMonitor', 'PrometheusRule'])
    expect(kindsIn(await rendered.default())).not.toContain(kind);
});

test.skipIf(missing).each([
  ['PROT', ['--set', 'settings.PROT=3000']],
  ['DATABASE_URL', ['--set', 'settings.DATABASE_URL=postgres://a']],
  ['PORT', ['--set', 'settings.PORT=80']],
  ['tag', ['--set', 'image.tag=latest']],
  ['embeded', ['--set', 'embeded.enabled=false']],
  ['lower', ['--set', 'secrets.values.lower=x']],
  ['needs the secret DATABASE_URL', ['--set', 'embedded.enabled=false']],
  ['needs settings.S3_ENDPOINT', [...valuesOf('scaled'), '--set', 'settings.S3_ENDPOINT=']],
  ['embedded.enabled has one replica', ['--set', 'autoscaling.enabled=true']],
  ['replicas=3 needs embedded.enabled=false', ['--set', 'replicas=3']],
  ['tls.caBundle and tls.caConfigMap', ['--set', 'tls.caBundle=x', '--set', 'tls.caConfigMap=y']],
  ['extraEnv', ['--set', 'extraEnv.A=x']],
  ['needs secrets.existing.name', ['--set', 'secrets.existing.keys={OPENAI_API_KEY}']],
  [
    'NATS_URL is in secrets.values and in',
    [...valuesOf('scaled'), '--set', 'secrets.values.NATS_URL=nats://a'],
  ],
  ['host', ['--set', 'ingress.enabled=true']],
])('values that cannot work are refused: %s', async (reason, options) => {
  await expect(render(...options)).rejects.toThrow(reason);
});

test('the chart is of the version of the service, and its README explains every value', () => {
  const { version } = JSON.parse(readFileSync(resolve(CHART, '../../../package.json'), 'utf8'));
  expect(read('Chart.yaml')).toContain(`appVersion: ${version}\n`);
  const readme = read('README.md');
  const names = [...read('values.yaml').matchAll(/^(\w+):/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name) => !readme.includes(`\`${name}`))).toEqual([]);
  expect(existsSync(join(CHART, 'templates/NOTES.txt'))).toBe(true);
});
