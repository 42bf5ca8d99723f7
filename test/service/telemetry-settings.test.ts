// The settings of tracing: which of them switch it on, and what they mean together.

import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';

const tracing = (environment: Record<string, string>) => loadConfig(environment).tracing;
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

test('tracing is off without an endpoint, and where it is switched off', () => {
  expect(tracing({})).toBeUndefined();
  expect(tracing({ OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'x' })).toBeUndefined();
  expect(tracing({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  expect(tracing({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined();
  expect(tracing({ OTEL_TRACES_EXPORTER: 'otlp' })?.url).toBe('http://localhost:4318/v1/traces');
});

test("the path is appended to the common endpoint alone; the traces' own settings win", () => {
  expect(tracing(ENDPOINT)).toMatchObject({
    url: 'http://collector:4318/v1/traces',
    protocol: 'http/json',
    sampler: 'parentbased_always_on',
    serviceName: 'atrium',
    queue: { spansMax: 2048, batchMax: 512, delayMs: 5000, timeoutMs: 30_000 },
    contentWorkspaces: [],
  });
  expect(
    tracing({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/custom?token=1',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b=two%20words',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=named,team=core',
    }),
  ).toMatchObject({
    url: 'https://traces.example/custom?token=1',
    protocol: 'http/protobuf',
    headers: { a: '2', b: 'two words' },
    serviceName: 'named',
    resource: { team: 'core' },
  });
  const both = { ...ENDPOINT, OTEL_SERVICE_NAME: 'first', OTEL_RESOURCE_ATTRIBUTES: 'service.name=second' };
  expect(tracing(both)?.serviceName).toBe('first');
});

test('a value that is not allowed is refused in a line that names it, and a secret one is not shown', () => {
  const refusalOf = (environment: Record<string, string>): string => {
    try {
      loadConfig(environment);
      return 'accepted';
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(refusalOf({ OTEL_TRACES_SAMPLER_ARG: '1.5' })).toBe(
    'OTEL_TRACES_SAMPLER_ARG: "1.5" is not allowed; expected a number from 0 to 1',
  );
  expect(refusalOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toContain('expected http/protobuf, http/json');
  expect(refusalOf({ OTEL_EXPORTER_OTLP_HEADERS: 'token' })).toBe(
    'OTEL_EXPORTER_OTLP_HEADERS: a value of 5 characters is not allowed; expected comma-separated key=value pairs, percent-encoded',
  );
  expect(refusalOf({ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '10' })).toContain(
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  );
  for (const arg of ['0', '1', '0.1', '.25', '1.0'])
    expect(refusalOf({ OTEL_TRACES_SAMPLER_ARG: arg })).toBe('accepted');
});
