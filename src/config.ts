// The environment → one validated, frozen Config. Nothing else reads the environment.

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { explainWorkspaceName } from './access/index.ts';
import {
  type GatewaySettings,
  type MeilisearchSettings,
  type NatsSettings,
  readGateway,
  readMeilisearch,
  readNats,
  readStore,
  type S3Settings,
} from './config-services.ts';
import { LOG_LEVELS, type LogLevel } from './core/logger.ts';
import { createSettingsReader, SettingsError } from './core/settings-reader.ts';
import { FORM_PROFILES, type FormProfile } from './infra/s3/form-profiles.ts';
import { SECRETS } from './settings.ts';

export type { NatsSettings, S3Settings } from './config-services.ts';
export { renderSettings } from './settings.ts';

/** S3's own ceiling for one posted form and for one copy. */
const S3_OBJECT_BYTES_MAX = 5_368_709_120;

/** Labels of a host name, joined by dots. */
const BUCKET_NAME = /^(?=.{3,63}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

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
  /** How a start is announced: to a person at a terminal, in the log, or, of one of several processes, by their owner. */
  readonly announces: 'on-terminal' | 'in-log' | 'not';
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
  readonly gateway: GatewaySettings;
  readonly compute: {
    /** Of each process. */
    threads: number;
    queueMax: number;
  };
  readonly bootstrap: { workspace: string | undefined; apiKey: string | undefined };
  readonly log: { level: LogLevel; format: 'json' | 'pretty' };
};

/** Reads and checks the environment. An empty value counts as absent. Throws SettingsError. */
export function loadConfig(environment: Record<string, string | undefined>, terminal = false): Config {
  const read = createSettingsReader(environment, SECRETS);
  const processes = read.integer('PROCESSES', { fallback: 1, minimum: 1, maximum: 256 });
  const sharesPort = environment['ATRIUM_PROCESS_OF_SEVERAL'] === '1';
  const logFormat = read.choice('LOG_FORMAT', ['json', 'pretty'] as const) ?? (terminal ? 'pretty' : 'json');
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
      sharesPort,
    },
    announces: sharesPort ? 'not' : terminal && logFormat === 'pretty' ? 'on-terminal' : 'in-log',
    processes,
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
    compute: {
      threads: read.integer('COMPUTE_THREADS', {
        fallback: Math.max(1, Math.floor(availableParallelism() / processes)),
        minimum: 1,
        maximum: 256,
      }),
      queueMax: read.integer('COMPUTE_QUEUE_MAX', { fallback: 1024, minimum: 1, maximum: 1_000_000 }),
    },
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
      format: logFormat,
    },
  };
  refuseContradictions(config);
  return Object.freeze(config);
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
