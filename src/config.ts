// The environment → one validated, frozen Config. Nothing else reads the environment.

import { resolve } from 'node:path';
import { explainWorkspaceName } from './access/index.ts';
import { LOG_LEVELS, type LogLevel } from './core/logger.ts';
import { createSettingsReader, SettingsError, type SettingsReader } from './core/settings-reader.ts';
import { FORM_PROFILES, type FormProfile } from './infra/s3/form-profiles.ts';
import { SECRETS } from './settings.ts';

export { renderSettings } from './settings.ts';

/** S3's own ceiling for one posted form and for one copy. */
const S3_OBJECT_BYTES_MAX = 5_368_709_120;

/** Labels of a host name, joined by dots. */
const BUCKET_NAME = /^(?=.{3,63}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

export type S3Settings = {
  endpoint: string;
  publicEndpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
};

export type MeilisearchSettings = { url: string; apiKey: string | undefined; indexPrefix: string };

export type NatsSettings = {
  url: string;
  creds: string | undefined;
  streamPrefix: string;
  replicas: number;
  monitorUrl: string | undefined;
};

export type Config = {
  readonly server: {
    host: string;
    port: number;
    corsOrigins: readonly string[];
    shutdownTimeoutMs: number;
    /** One of several processes behind one port. */
    sharesPort: boolean;
  };
  readonly processes: number;
  /** Whether the start is announced to a person; one of several processes leaves that to their owner. */
  readonly announces: boolean;
  readonly dataDir: string;
  /** Undefined: embedded Postgres. */
  readonly databaseUrl: string | undefined;
  readonly objects: {
    /** Undefined: the embedded object store. */
    external: S3Settings | undefined;
    embeddedPort: number;
    /** The origin that clients reach, where it differs from the store's own. */
    publicEndpoint: string | undefined;
    region: string;
    bucket: string;
    formProfile: FormProfile;
  };
  readonly documents: {
    uploadBytesMax: number;
    uploadRetentionSeconds: number;
    sweepIntervalSeconds: number;
    trashRetentionDays: number;
  };
  readonly search: {
    /** Undefined: Postgres alone answers searches. */
    meilisearch: MeilisearchSettings | undefined;
  };
  readonly usage: {
    /** Undefined: the embedded journal. */
    nats: NatsSettings | undefined;
    bufferBytesMax: number;
    retentionDays: number;
  };
  readonly gateway: {
    /** Path of the models file; undefined: `openai`, or the models that are built in. */
    modelsFile: string | undefined;
    openai: { baseUrl: string; apiKey: string | undefined } | undefined;
    /** Whether models answer without a key. */
    anonymous: boolean;
    /** What the models file may name as `${VAR}`. */
    variable: (name: string) => string | undefined;
  };
  readonly bootstrap: { workspace: string | undefined; apiKey: string | undefined };
  readonly log: { level: LogLevel; format: 'json' | 'pretty' };
};

/** Reads and checks the environment. An empty value counts as absent. Throws SettingsError. */
export function loadConfig(environment: Record<string, string | undefined>, terminal = false): Config {
  const read = createSettingsReader(environment, SECRETS);
  const config: Config = {
    server: {
      host: read.text('HOST') ?? '127.0.0.1',
      port: read.integer('PORT', { fallback: 3000, minimum: 0, maximum: 65_535 }),
      corsOrigins: read.origins('CORS_ORIGINS'),
      shutdownTimeoutMs: read.integer('SHUTDOWN_TIMEOUT_MS', {
        fallback: 20_000,
        minimum: 100,
        maximum: 3_600_000,
      }),
      sharesPort: environment['ATRIUM_PROCESS_OF_SEVERAL'] === '1',
    },
    announces: environment['ATRIUM_PROCESS_OF_SEVERAL'] !== '1',
    processes: read.integer('PROCESSES', { fallback: 1, minimum: 1, maximum: 256 }),
    dataDir: resolve(read.text('DATA_DIR') ?? './data'),
    databaseUrl: read.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    objects: {
      external: readStore(read),
      embeddedPort: read.integer('OBJECT_STORE_PORT', { fallback: 0, minimum: 0, maximum: 65_535 }),
      publicEndpoint: read.origin('S3_PUBLIC_ENDPOINT'),
      region: read.text('S3_REGION') ?? 'us-east-1',
      bucket:
        read.pattern('S3_BUCKET', BUCKET_NAME, '3 to 63 of a-z, 0-9, . and -, as S3 names buckets') ??
        'atrium',
      formProfile: read.choice('S3_FORM_PROFILE', FORM_PROFILES) ?? 'standard',
    },
    documents: {
      uploadBytesMax: read.integer('UPLOAD_BYTES_MAX', {
        fallback: S3_OBJECT_BYTES_MAX,
        minimum: 1,
        maximum: S3_OBJECT_BYTES_MAX,
      }),
      uploadRetentionSeconds: read.integer('UPLOAD_RETENTION_SECONDS', {
        fallback: 86_400,
        minimum: 1,
        maximum: 31_536_000,
      }),
      sweepIntervalSeconds: read.integer('SWEEP_INTERVAL_SECONDS', {
        fallback: 3600,
        minimum: 1,
        maximum: 86_400,
      }),
      trashRetentionDays: read.integer('TRASH_RETENTION_DAYS', { fallback: 0, minimum: 0, maximum: 36_500 }),
    },
    search: { meilisearch: readMeilisearch(read) },
    usage: {
      nats: readNats(read),
      bufferBytesMax: read.integer('EVENT_BUFFER_BYTES_MAX', {
        fallback: 8_589_934_592,
        minimum: 16_777_216,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
      retentionDays: read.integer('EVENT_RETENTION_DAYS', { fallback: 0, minimum: 0, maximum: 36_500 }),
    },
    gateway: readGateway(read, environment),
    bootstrap: {
      workspace: read.checked('BOOTSTRAP_WORKSPACE', explainWorkspaceName),
      apiKey: read.pattern(
        'BOOTSTRAP_API_KEY',
        /^[\x21-\x7e]{32,512}$/,
        'at least 32 visible ASCII characters',
      ),
    },
    log: {
      level: read.choice('LOG_LEVEL', LOG_LEVELS) ?? 'info',
      format: read.choice('LOG_FORMAT', ['json', 'pretty'] as const) ?? (terminal ? 'pretty' : 'json'),
    },
  };
  refuseContradictions(config);
  return Object.freeze(config);
}

function readStore(read: SettingsReader): S3Settings | undefined {
  const endpoint = read.origin('S3_ENDPOINT');
  const accessKeyId = read.text('S3_ACCESS_KEY_ID');
  const secretAccessKey = read.text('S3_SECRET_ACCESS_KEY');
  if (endpoint === undefined) {
    if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
    throw new SettingsError('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY need S3_ENDPOINT, which is not set');
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new SettingsError(
      'S3_ENDPOINT needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, which are not both set',
    );
  }
  return {
    endpoint,
    publicEndpoint: read.origin('S3_PUBLIC_ENDPOINT') ?? endpoint,
    accessKeyId,
    secretAccessKey,
  };
}

function readMeilisearch(read: SettingsReader): MeilisearchSettings | undefined {
  const url = read.origin('MEILI_URL');
  const apiKey = read.text('MEILI_API_KEY');
  const indexPrefix =
    read.pattern('MEILI_INDEX_PREFIX', /^[a-zA-Z0-9_-]{1,64}$/, '1 to 64 of a-z, A-Z, 0-9, _ and -') ??
    'atrium';
  if (url !== undefined) return { url, apiKey, indexPrefix };
  if (apiKey !== undefined) throw new SettingsError('MEILI_API_KEY needs MEILI_URL, which is not set');
  return undefined;
}

function readGateway(
  read: SettingsReader,
  environment: Record<string, string | undefined>,
): Config['gateway'] {
  const modelsFile = read.text('MODELS_CONFIG');
  const baseUrl = read.url('OPENAI_BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, '');
  if (modelsFile !== undefined && baseUrl !== undefined) {
    throw new SettingsError(
      'MODELS_CONFIG and OPENAI_BASE_URL are both set: the models come from one of them',
    );
  }
  const onLoopback = /^(?:127(?:\.\d+){3}|::1|\[::1\]|localhost)$/.test(read.text('HOST') ?? '127.0.0.1');
  const anonymous = read.choice('GATEWAY_ANONYMOUS', ['true', 'false'] as const) ?? String(onLoopback);
  return {
    modelsFile: modelsFile === undefined ? undefined : resolve(modelsFile),
    openai: baseUrl === undefined ? undefined : { baseUrl, apiKey: read.text('OPENAI_API_KEY') },
    anonymous: anonymous === 'true',
    variable: (name) => environment[name],
  };
}

function readNats(read: SettingsReader): NatsSettings | undefined {
  const url = read.urls('NATS_URL', ['nats:', 'tls:']);
  const creds = read.text('NATS_CREDS');
  const streamPrefix =
    read.pattern('NATS_STREAM_PREFIX', /^[a-zA-Z0-9_-]{1,32}$/, '1 to 32 of a-z, A-Z, 0-9, _ and -') ??
    'ATRIUM';
  const replicas = Number(read.choice('NATS_REPLICAS', ['1', '3', '5'] as const) ?? '1');
  const monitorUrl = read.origin('NATS_MONITOR_URL');
  if (url !== undefined) return { url, creds, streamPrefix, replicas, monitorUrl };
  if (creds !== undefined) throw new SettingsError('NATS_CREDS needs NATS_URL, which is not set');
  return undefined;
}

function refuseContradictions({ processes, server, objects }: Config): void {
  if (processes > 1 && server.port === 0) {
    throw new SettingsError('PORT=0 cannot be shared by several processes: set PORT, or PROCESSES=1');
  }
  if (objects.embeddedPort === 0) return;
  if (objects.external !== undefined) {
    throw new SettingsError('OBJECT_STORE_PORT is for the embedded object store, which S3_ENDPOINT replaces');
  }
  if (objects.embeddedPort === server.port) {
    throw new SettingsError(
      `OBJECT_STORE_PORT and PORT are both ${server.port}: each needs a port of its own`,
    );
  }
}
