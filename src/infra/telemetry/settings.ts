// The settings of tracing, by the names and the meanings of the specification of OpenTelemetry (SDK configuration, and protocol exporter).

import {
  choice,
  integer,
  type Kind,
  type Setting,
  SettingsError,
  TEXT,
  url,
} from '../../core/settings-reader.ts';
import { duration } from '../../core/settings-units.ts';

export type TracingSettings = {
  /** Where spans are posted to. */
  url: string;
  headers: Record<string, string>;
  protocol: 'http/protobuf' | 'http/json';
  compression: 'none' | 'gzip';
  timeoutMs: number;
  sampler: SamplerName;
  /** The share of traces that the ratio samplers take. */
  ratio: number;
  serviceName: string;
  resource: Record<string, string>;
  queue: { spansMax: number; batchMax: number; delayMs: number; timeoutMs: number };
  contentWorkspaces: readonly string[];
};

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const COMPRESSIONS = ['none', 'gzip'] as const;
const DEFAULT_ENDPOINT = 'http://localhost:4318';

/** `key=value` pairs, comma-separated, percent-encoded. */
const PAIRS: Kind<Record<string, string>> = {
  allowed: 'comma-separated key=value pairs, percent-encoded',
  parse(text) {
    try {
      const pairs = text.split(',').map((pair): [string, string] => {
        const [, key, value] = /^\s*([^\s=]+)\s*=(.*)$/.exec(pair) ?? [];
        if (key === undefined || value === undefined) throw new Error('no pair');
        return [decodeURIComponent(key), decodeURIComponent(value.trim())];
      });
      return Object.fromEntries(pairs);
    } catch {
      return undefined;
    }
  },
};

const RATIO: Kind<number> = {
  allowed: 'a number from 0 to 1',
  parse: (text) =>
    /^(?:0|1|0?\.\d{1,15}|[01]\.\d{1,15})$/.test(text) && Number(text) <= 1 ? Number(text) : undefined,
};

const WORKSPACES: Kind<readonly string[]> = {
  allowed: 'comma-separated names of workspaces',
  parse(text) {
    const names = text.split(',').map((name) => name.trim());
    return names.every((name) => /^[a-z0-9][a-z0-9-]{1,62}$/.test(name)) ? names : undefined;
  },
};

const MILLISECONDS = duration('milliseconds', 1, 600_000);

export const TRACING_SETTINGS = {
  OTEL_SDK_DISABLED: {
    kind: choice(['true', 'false']),
    default: 'false',
    meaning: 'true switches tracing off',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    kind: url('http:', 'https:'),
    otherwise: 'no tracing',
    meaning: 'collector of traces; `/v1/traces` is appended to it',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    kind: url('http:', 'https:'),
    otherwise: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    meaning: 'URL that traces are posted to, as it is',
    secret: true,
  },
  OTEL_TRACES_EXPORTER: {
    kind: choice(['otlp', 'none']),
    otherwise: 'otlp with an endpoint, else none',
    meaning: `otlp exports traces, without an endpoint to ${DEFAULT_ENDPOINT}`,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    kind: PAIRS,
    otherwise: 'none',
    meaning: 'headers of its requests',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: {
    kind: PAIRS,
    otherwise: 'none',
    meaning: 'further headers, which win',
    secret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    kind: choice(PROTOCOLS),
    default: 'http/json',
    meaning: 'encoding of spans',
  },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
    kind: choice(PROTOCOLS),
    otherwise: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    meaning: 'the same, for traces alone',
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: {
    kind: choice(COMPRESSIONS),
    default: 'none',
    meaning: 'compression of its requests: none or gzip',
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    kind: MILLISECONDS,
    default: '10000',
    meaning: 'milliseconds that the collector has for one request',
  },
  OTEL_TRACES_SAMPLER: {
    kind: choice(SAMPLERS),
    default: 'parentbased_always_on',
    meaning:
      'which traces are exported: always_on, always_off, traceidratio, or parentbased_ with one of them',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    kind: RATIO,
    default: '1',
    meaning: 'share of traces that a ratio sampler takes',
  },
  OTEL_SERVICE_NAME: { kind: TEXT, otherwise: 'atrium', meaning: 'name of this service in traces' },
  OTEL_RESOURCE_ATTRIBUTES: {
    kind: PAIRS,
    otherwise: 'none',
    meaning: 'attributes of all spans, such as deployment.environment.name=production',
  },
  OTEL_BSP_MAX_QUEUE_SIZE: {
    kind: integer(1, 1_000_000),
    default: '2048',
    meaning: 'spans that may wait for the collector; beyond, they are dropped and counted',
  },
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: {
    kind: integer(1, 100_000),
    default: '512',
    meaning: 'spans of one request at most',
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    kind: MILLISECONDS,
    default: '5000',
    meaning: 'milliseconds between two requests',
  },
  OTEL_BSP_EXPORT_TIMEOUT: {
    kind: MILLISECONDS,
    default: '30000',
    meaning: 'milliseconds after which the next request does not wait for the one before it',
  },
  TRACE_CONTENT_WORKSPACES: {
    kind: WORKSPACES,
    otherwise: 'none',
    meaning: 'workspaces whose prompts and answers are attributes of spans',
  },
} satisfies Record<string, Setting>;

type Given = {
  [Name in keyof typeof TRACING_SETTINGS]: (typeof TRACING_SETTINGS)[Name] extends { kind: Kind<infer T> }
    ? (typeof TRACING_SETTINGS)[Name] extends { default: string }
      ? T
      : T | undefined
    : never;
};

/** Undefined where no trace is exported. Throws SettingsError for settings that contradict one another. */
export function toTracingSettings(given: Given): TracingSettings | undefined {
  const endpoint = given.OTEL_EXPORTER_OTLP_ENDPOINT;
  const tracesUrl = given.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const isConfigured =
    endpoint !== undefined || tracesUrl !== undefined || given.OTEL_TRACES_EXPORTER === 'otlp';
  if (!isConfigured || given.OTEL_TRACES_EXPORTER === 'none' || given.OTEL_SDK_DISABLED === 'true')
    return undefined;
  if (given.OTEL_BSP_MAX_EXPORT_BATCH_SIZE > given.OTEL_BSP_MAX_QUEUE_SIZE)
    throw new SettingsError(
      'OTEL_BSP_MAX_EXPORT_BATCH_SIZE is larger than OTEL_BSP_MAX_QUEUE_SIZE: a batch comes from the queue',
    );
  const { 'service.name': named = 'atrium', ...resource } = given.OTEL_RESOURCE_ATTRIBUTES ?? {};
  return {
    url: tracesUrl ?? `${(endpoint ?? DEFAULT_ENDPOINT).replace(/\/+$/, '')}/v1/traces`,
    headers: { ...given.OTEL_EXPORTER_OTLP_HEADERS, ...given.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    protocol: given.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? given.OTEL_EXPORTER_OTLP_PROTOCOL,
    compression: given.OTEL_EXPORTER_OTLP_COMPRESSION,
    timeoutMs: given.OTEL_EXPORTER_OTLP_TIMEOUT,
    sampler: given.OTEL_TRACES_SAMPLER,
    ratio: given.OTEL_TRACES_SAMPLER_ARG,
    serviceName: given.OTEL_SERVICE_NAME ?? named,
    resource,
    queue: {
      spansMax: given.OTEL_BSP_MAX_QUEUE_SIZE,
      batchMax: given.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
      delayMs: given.OTEL_BSP_SCHEDULE_DELAY,
      timeoutMs: given.OTEL_BSP_EXPORT_TIMEOUT,
    },
    contentWorkspaces: given.TRACE_CONTENT_WORKSPACES ?? [],
  };
}
