// Sizes and times with units, and variables that look like settings and are none.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { bytes, duration } from '../../src/core/settings-units.ts';
import { SETTINGS } from '../../src/settings.ts';
import { freshFolder } from '../support/folders.ts';

describe('sizes', () => {
  const size = bytes(1, 10 ** 13);
  test.each([
    ['1', 1],
    ['5GB', 5_000_000_000],
    ['5 gb', 5_000_000_000],
    ['1GiB', 1_073_741_824],
    ['1Gi', 1_073_741_824],
    ['512Mi', 536_870_912],
    ['1.5k', 1500],
    ['2kB', 2000],
    ['7B', 7],
    ['1TiB', 1024 ** 4],
  ])('%s is understood', (text, value) => expect(size.parse(text)).toBe(value));
  test.each(['', '0', 'GB', '1.5', '1.5B', '-1', '1e3', '0x10', '5 G B', '20TB', '5GBs', 'Infinity', '١'])(
    '%j is refused',
    (text) => expect(size.parse(text)).toBeUndefined(),
  );
});

describe('times', () => {
  test.each([
    ['days', '7', 7],
    ['days', '7d', 7],
    ['days', '2w', 14],
    ['days', '48h', 2],
    ['seconds', '30', 30],
    ['seconds', '30s', 30],
    ['seconds', '5m', 300],
    ['seconds', '5min', 300],
    ['seconds', '1.5m', 90],
    ['milliseconds', '1.5s', 1500],
    ['milliseconds', '250ms', 250],
    ['hours', '7d', 168],
  ] as const)('of %s: %s is %d', (unit, text, value) =>
    expect(duration(unit, 0, 1_000_000).parse(text)).toBe(value),
  );
  test.each(['12h', '1.5', 'd', '-1d', '7D', '7 days', '1e3'])('of days: %j is refused', (text) =>
    expect(duration('days', 0, 1_000_000).parse(text)).toBeUndefined(),
  );
});

test('every setting of a size or a time takes one with a unit', () => {
  for (const [name, { kind }] of Object.entries(SETTINGS)) {
    const sample = /_BYTES_MAX$/.test(name)
      ? '200MB'
      : /_(?:MS|SECONDS|HOURS|DAYS)$/.test(name)
        ? /_MS$/.test(name)
          ? '500ms'
          : /_SECONDS$/.test(name)
            ? '1h'
            : '7d'
        : undefined;
    if (sample !== undefined) expect([name, kind.parse(sample)]).toEqual([name, expect.any(Number)]);
  }
});

const told = (environment: Record<string, string>) => loadConfig(environment).unknownSettings;

test.each([
  ['DATABSE_URL', 'did you mean DATABASE_URL?'],
  ['DATABASE_URI', 'did you mean DATABASE_URL?'],
  ['database_url', 'did you mean DATABASE_URL?'],
  ['DATABASE-URL', 'did you mean DATABASE_URL?'],
  ['ATRIUM_DATABASE_URL', 'did you mean DATABASE_URL?'],
  ['ATRIUM_ANYTHING', '--help'],
  ['PROT', 'did you mean PORT?'],
  ['LOGLEVEL', 'did you mean LOG_LEVEL?'],
  ['OPENAI_API_KEYS', 'did you mean OPENAI_API_KEY?'],
  ['OPENAI_BASEURL', 'did you mean OPENAI_BASE_URL?'],
  ['S3_SECRET_KEY', '--help'],
  ['OIDC_SECRET', '--help'],
  ['TRASH_RETENTION', '--help'],
  ['BOOTSTRAP_API_KEY_FIEL', 'did you mean BOOTSTRAP_API_KEY_FILE?'],
  ['PORT_FILE', 'PORT is not secret'],
  ['S3_ENDPOINT_FILE', 'S3_ENDPOINT is not secret'],
])('%s is told', (name, hint) => {
  expect(told({ [name]: 'hush' })).toEqual([expect.stringContaining(hint)]);
  expect(told({ [name]: 'hush' })[0]).toStartWith(`${name} is no setting`);
  expect(told({ [name]: 'hush' })[0]).not.toContain('hush');
  expect(told({ [name]: ' ' })).toEqual([]);
  expect(() => loadConfig({ [name]: 'hush', STRICT_SETTINGS: 'true' })).toThrow(`${name} is no setting`);
});

test.each([
  ['PATH', 'HOME', 'HOSTNAME', 'USER', 'SHELL', 'PWD', 'TERM', 'LANG', 'TZ', 'TMPDIR'],
  [
    'http_proxy',
    'NODE_ENV',
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'UV_THREADPOOL_SIZE',
    'POSTGRES_PASSWORD',
  ],
  ['AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'OPENAI_ORG_ID', 'LOG_DIR', 'DATA_VERSION'],
  [
    'OTEL_METRICS_EXPORTER',
    'OTEL_LOG_LEVEL',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    'KUBERNETES_SERVICE_HOST',
  ],
  [
    'NATS_SERVICE_HOST',
    'NATS_PORT',
    'NATS_PORT_4222_TCP',
    'MEILI_SERVICE_PORT_HTTP',
    'S3_PORT_9000_TCP_ADDR',
  ],
])('variables of others are left alone: %s …', (...names) => {
  const environment = Object.fromEntries(names.map((name) => [name, 'x']));
  expect(loadConfig({ ...environment, STRICT_SETTINGS: 'true' }).unknownSettings).toEqual([]);
});

test('variables that the models file names are left alone', async () => {
  const file = join(freshFolder(), 'models.yaml');
  await Bun.write(file, ['OPENAI_API_KEY2', 'S3_LIKE'].map((name) => `- "\${${name}}"`).join('\n'));
  const given = { MODELS_CONFIG: file, OPENAI_API_KEY2: 'x', S3_LIKE_FILE: '/x', OPENAI_API_KEY3: 'x' };
  expect(told(given)).toEqual([expect.stringContaining('OPENAI_API_KEY3 is no setting')]);
});
