// The environment → one validated, frozen Config. Nothing else reads the environment.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { toSignOnSettings } from './access/index.ts';
import { parseJson } from './core/json.ts';
import { isLoopback } from './core/origin.ts';
import { type Environment, readVariable, withSecretFiles } from './core/secret-files.ts';
import {
  createSettingsMistakes,
  readSettings,
  type SettingInForce,
  SettingsError,
  type SettingsMistakes,
  type SettingsOf,
  settingsInForce,
} from './core/settings-reader.ts';
import { findUnknownSettings } from './core/unknown-settings.ts';
import { toTracingSettings } from './infra/telemetry/settings.ts';
import { ONE_OF_SEVERAL, SETTINGS_OF_OWNER } from './processes/owner.ts';
import { SETTINGS } from './settings.ts';

export type Config = ReturnType<typeof loadConfig>;

/** The object store that is configured, or the embedded one once it listens. */
export type S3Settings = NonNullable<Config['objects']['external']>;

/** The environment of the process that reads files: what a program needs to start, and no credentials. */
const READER_VARIABLES = 'PATH HOME TMPDIR TZ NODE_ENV';

type Given = SettingsOf<typeof SETTINGS>;

/**
 * Reads and checks the environment, and the files of secrets that it names. An empty value counts as absent. Throws SettingsError with
 * all mistakes, a line each.
 */
export function loadConfig(variables: Environment, terminal = false) {
  const mistakes = createSettingsMistakes();
  const environment = withSecretFiles(SETTINGS, variables, mistakes);
  const given = readSettings(SETTINGS, environment, mistakes);
  refuseContradictions(given, mistakes);
  const unknown = findUnknownSettings(SETTINGS, variables, variablesBesideSettings(given));
  if (given.STRICT_SETTINGS === 'true') for (const sentence of unknown) mistakes.add(sentence);
  const signOn = mistakes.attempt(() => toSignOnSettings(given));
  const store = mistakes.attempt(() => toStore(given));
  const tracing = mistakes.attempt(() => toTracingSettings(given));
  mistakes.refuse();
  /** One of several processes behind one port. */
  const sharesPort = environment[ONE_OF_SEVERAL] === '1';
  const ownersSettings = environment[SETTINGS_OF_OWNER];
  const logFormat = given.LOG_FORMAT ?? (terminal ? 'pretty' : 'json');
  return Object.freeze({
    server: {
      host: given.HOST,
      port: given.PORT,
      corsOrigins: given.CORS_ORIGINS ?? [],
      /** The service's own origin, where it is told. */
      origin: given.PUBLIC_URL === undefined ? undefined : new URL(given.PUBLIC_URL).origin,
      trustedProxies: given.TRUSTED_PROXIES ?? [],
      shutdownTimeoutMs: given.SHUTDOWN_TIMEOUT_MS,
      shutdownDelayMs: given.SHUTDOWN_DELAY_MS,
      sharesPort,
    },
    processes: given.PROCESSES,
    /** Of each process, in bytes; undefined: no ceiling. */
    /** As people may see them, without secrets; of one of several processes they are those of its owner. */
    settings:
      ownersSettings === undefined
        ? settingsInForce(SETTINGS, environment)
        : (parseJson(ownersSettings) as SettingInForce[]),
    /** A sentence for each variable that looks like a setting and is none; one of several processes leaves them to its owner. */
    unknownSettings: sharesPort ? [] : unknown,
    /** A start is announced to a person at a terminal, in the log, or, for one of several processes, by their owner. */
    announces: sharesPort ? 'not' : terminal && logFormat === 'pretty' ? 'on-terminal' : 'in-log',
    dataDir: resolve(given.DATA_DIR),
    /** Undefined: embedded Postgres. */
    databaseUrl: given.DATABASE_URL,
    objects: {
      /** Undefined: the embedded object store. */
      external: store,
      embeddedPort: given.OBJECT_STORE_PORT,
      /** The origin that clients reach, where it differs from the store's own. */
      publicEndpoint: given.S3_PUBLIC_ENDPOINT,
      region: given.S3_REGION,
      bucket: given.S3_BUCKET,
      formProfile: given.S3_FORM_PROFILE,
    },
    access: { auditRetentionDays: given.AUDIT_RETENTION_DAYS, signOn },
    documents: {
      uploadBytesMax: given.UPLOAD_BYTES_MAX,
      uploadRetentionSeconds: given.UPLOAD_RETENTION_SECONDS,
      sweepIntervalSeconds: given.SWEEP_INTERVAL_SECONDS,
      trashRetentionDays: given.TRASH_RETENTION_DAYS,
      auditRetentionDays: given.AUDIT_RETENTION_DAYS,
      content: {
        reads: given.CONTENT === 'on',
        bytesMax: given.CONTENT_BYTES_MAX,
        readerEnvironment: Object.fromEntries(
          READER_VARIABLES.split(' ').map((name) => [name, environment[name]]),
        ),
      },
      vectors: {
        memoryBytesMax: given.VECTORS_MEMORY_BYTES_MAX,
        graphPassagesMin: given.VECTORS_GRAPH_PASSAGES_MIN,
      },
    },
    search: {
      /** Undefined: Postgres alone answers searches. */
      meilisearch:
        given.MEILI_URL === undefined
          ? undefined
          : { url: given.MEILI_URL, apiKey: given.MEILI_API_KEY, indexPrefix: given.MEILI_INDEX_PREFIX },
    },
    usage: {
      /** Undefined: the embedded journal. */
      nats:
        given.NATS_URL === undefined
          ? undefined
          : {
              url: given.NATS_URL,
              creds: given.NATS_CREDS,
              streamPrefix: given.NATS_STREAM_PREFIX,
              replicas: Number(given.NATS_REPLICAS),
              monitorUrl: given.NATS_MONITOR_URL,
            },
      bufferBytesMax: given.EVENT_BUFFER_BYTES_MAX,
      retentionDays: given.EVENT_RETENTION_DAYS,
      sumsRetentionDays: given.USAGE_SUMS_RETENTION_DAYS,
    },
    gateway: {
      sumsRetentionDays: given.USAGE_SUMS_RETENTION_DAYS,
      /** Path of the models file; undefined: `openai`, or the models that are built in. */
      modelsFile: given.MODELS_CONFIG === undefined ? undefined : resolve(given.MODELS_CONFIG),
      openai:
        given.OPENAI_BASE_URL === undefined && given.OPENAI_API_KEY === undefined
          ? undefined
          : {
              baseUrl: (given.OPENAI_BASE_URL ?? OPENAI_URL).replace(/\/+$/, ''),
              apiKey: given.OPENAI_API_KEY,
              timeoutMs: given.OPENAI_TIMEOUT_MS,
              idleTimeoutMs: given.OPENAI_IDLE_TIMEOUT_MS,
            },
      bodyBytesMax: given.GATEWAY_BODY_BYTES_MAX,
      /** Whether models answer requests of this machine without a key. */
      anonymous:
        given.GATEWAY_ANONYMOUS === undefined ? isHarmless(given) : given.GATEWAY_ANONYMOUS === 'true',
      /** The values of `${VAR}` in the models file, read again with it. */
      variable: (name: string) => readVariable(variables, name),
    },
    chat: {
      retrievalTimeoutMs: given.RETRIEVAL_TIMEOUT_MS,
      retentionDays: given.CONVERSATION_RETENTION_DAYS,
    },
    compute: {
      /** Of each process. */
      threads: given.COMPUTE_THREADS ?? coresOf(given),
      queueMax: given.COMPUTE_QUEUE_MAX,
    },
    bootstrap: { workspace: given.BOOTSTRAP_WORKSPACE, apiKey: given.BOOTSTRAP_API_KEY },
    log: { level: given.LOG_LEVEL, format: logFormat },
    /** Undefined: no spans are made. */
    tracing,
  } as const);
}

/** Of each process. */
const coresOf = ({ PROCESSES }: Given): number => Math.max(1, Math.floor(availableParallelism() / PROCESSES));

function toStore({ S3_ENDPOINT, S3_PUBLIC_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: Given) {
  if (S3_ENDPOINT === undefined) return undefined;
  if (S3_ACCESS_KEY_ID === undefined || S3_SECRET_ACCESS_KEY === undefined)
    throw new SettingsError(
      'S3_ENDPOINT needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, which are not both set',
    );
  return {
    endpoint: S3_ENDPOINT,
    publicEndpoint: S3_PUBLIC_ENDPOINT ?? S3_ENDPOINT,
    accessKeyId: S3_ACCESS_KEY_ID,
    secretAccessKey: S3_SECRET_ACCESS_KEY,
  };
}

/** Where a key alone is for. */
const OPENAI_URL = 'https://api.openai.com/v1';

/** A models file is taken to name upstreams, because it may name them when it is read again. */
const isHarmless = ({ HOST, MODELS_CONFIG, OPENAI_BASE_URL, OPENAI_API_KEY }: Given): boolean =>
  isLoopback(HOST.replace(/^\[(.+)\]$/, '$1')) &&
  MODELS_CONFIG === undefined &&
  OPENAI_BASE_URL === undefined &&
  OPENAI_API_KEY === undefined;

/** Variables of the environment that are read beside the settings: those that the models file names, and the service's own. */
function variablesBesideSettings({ MODELS_CONFIG: file }: Given): ReadonlySet<string> {
  const own = [ONE_OF_SEVERAL, SETTINGS_OF_OWNER];
  if (file === undefined) return new Set(own);
  try {
    const named = readFileSync(file, 'utf8').matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g);
    return new Set([...own, ...[...named].map(([, name = '']) => name)]);
  } catch {
    // The check of the models file says why it cannot be read.
    return new Set(own);
  }
}

function refuseContradictions(given: Given, mistakes: SettingsMistakes): void {
  const refuse = (contradicts: boolean, sentence: string): void => {
    mistakes.attempt(() => {
      if (contradicts) throw new SettingsError(sentence);
    });
  };
  const { OBJECT_STORE_PORT: storePort, PORT: port, S3_ENDPOINT: store } = given;
  const credentials = given.S3_ACCESS_KEY_ID ?? given.S3_SECRET_ACCESS_KEY;
  refuse(
    store === undefined && credentials !== undefined,
    'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY need S3_ENDPOINT, which is not set',
  );
  refuse(
    given.MEILI_URL === undefined && given.MEILI_API_KEY !== undefined,
    'MEILI_API_KEY needs MEILI_URL, which is not set',
  );
  refuse(
    given.NATS_URL === undefined && given.NATS_CREDS !== undefined,
    'NATS_CREDS needs NATS_URL, which is not set',
  );
  refuse(
    given.MODELS_CONFIG !== undefined && given.OPENAI_BASE_URL !== undefined,
    'MODELS_CONFIG and OPENAI_BASE_URL are both set: the models come from one of them',
  );
  refuse(
    given.PROCESSES > 1 && port === 0,
    'PORT=0 cannot be shared by several processes: set PORT, or PROCESSES=1',
  );
  refuse(
    storePort > 0 && store !== undefined,
    'OBJECT_STORE_PORT is for the embedded object store, which S3_ENDPOINT replaces',
  );
  refuse(
    storePort > 0 && storePort === port,
    `OBJECT_STORE_PORT and PORT are both ${port}: each needs a port of its own`,
  );
}
