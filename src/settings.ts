// Every setting, stated once: the parser, the types, `--help` and docs/reference/settings.md are made from this table.

import { explainWorkspaceName, SIGN_ON_SETTINGS, WORKSPACE_NAME_FORM } from './access/index.ts';
import { LOG_LEVELS } from './core/logger.ts';
import {
  choice,
  integer,
  type Kind,
  ORIGIN,
  ORIGINS,
  pattern,
  type Setting,
  TEXT,
  urls,
} from './core/settings-reader.ts';
import { bytes, duration } from './core/settings-units.ts';
import { MODEL_SETTINGS } from './gateway/index.ts';
import { PROXIES } from './http/client.ts';
import { DATABASE_ADDRESS } from './infra/postgres/address.ts';
import { FORM_PROFILES } from './infra/s3/form-profiles.ts';
import { TRACING_SETTINGS } from './infra/telemetry/settings.ts';

/** S3's own ceiling for one posted form and for one copy. */
const S3_OBJECT_BYTES_MAX = 5_368_709_120;

/** Labels of a host name, joined by dots. */
const BUCKET_NAME = /^(?=.{3,63}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

const WORKSPACE: Kind<string> = {
  allowed: `${WORKSPACE_NAME_FORM}, and not reserved`,
  parse: (text) => (explainWorkspaceName(text) === undefined ? text : undefined),
};

export const SETTINGS = {
  HOST: { kind: TEXT, default: '127.0.0.1', meaning: 'address to listen on' },
  PORT: { kind: integer(0, 65_535), default: '3000', meaning: 'port to listen on; 0 picks and prints one' },
  DATA_DIR: { kind: TEXT, default: './data', meaning: 'everything embedded lives here, and nowhere else' },
  DATABASE_URL: {
    kind: DATABASE_ADDRESS,
    otherwise: 'embedded Postgres',
    meaning: 'postgres://user:password@host/database; of several hosts the one that takes writes',
    secret: true,
  },
  S3_ENDPOINT: {
    kind: ORIGIN,
    otherwise: 'embedded object store',
    meaning: 'origin by which the service reaches the store',
  },
  S3_PUBLIC_ENDPOINT: {
    kind: ORIGIN,
    otherwise: 'S3_ENDPOINT',
    meaning: 'origin by which clients reach it; signed URLs name it',
  },
  S3_REGION: { kind: TEXT, default: 'us-east-1', meaning: 'region that signatures name' },
  S3_BUCKET: {
    kind: pattern(BUCKET_NAME, '3 to 63 of a-z, 0-9, . and -, as S3 names buckets'),
    default: 'atrium',
    meaning: 'bucket, for this service alone; created when it is absent',
  },
  S3_ACCESS_KEY_ID: { kind: TEXT, otherwise: 'none', meaning: 'credentials of the store', secret: true },
  S3_SECRET_ACCESS_KEY: { kind: TEXT, otherwise: 'none', meaning: 'credentials of the store', secret: true },
  S3_FORM_PROFILE: {
    kind: choice(FORM_PROFILES),
    default: 'standard',
    meaning: 'mix of form fields: standard, aws or seaweedfs',
  },
  OBJECT_STORE_PORT: {
    kind: integer(0, 65_535),
    default: '0',
    meaning: 'port of the embedded object store; 0 picks a free one',
  },
  MEILI_URL: {
    kind: ORIGIN,
    otherwise: 'Postgres answers searches',
    meaning: 'origin of a Meilisearch server that mirrors the documents and answers searches too',
  },
  MEILI_API_KEY: {
    kind: TEXT,
    otherwise: 'none',
    meaning: 'its key: indexes, documents, settings, tasks',
    secret: true,
  },
  MEILI_INDEX_PREFIX: {
    kind: pattern(/^[a-zA-Z0-9_-]{1,64}$/, '1 to 64 of a-z, A-Z, 0-9, _ and -'),
    default: 'atrium',
    meaning: 'what the names of its indexes begin with',
  },
  NATS_URL: {
    kind: urls('nats:', 'tls:'),
    otherwise: 'embedded journal',
    meaning: 'nats://host:4222 of servers with JetStream, comma-separated; usage events wait there',
    secret: true,
  },
  NATS_CREDS: { kind: TEXT, otherwise: 'none', meaning: 'path of a credentials file for them' },
  NATS_STREAM_PREFIX: {
    kind: pattern(/^[a-zA-Z0-9_-]{1,32}$/, '1 to 32 of a-z, A-Z, 0-9, _ and -'),
    default: 'ATRIUM',
    meaning: 'what the names of streams and subjects begin with',
  },
  NATS_REPLICAS: { kind: choice(['1', '3', '5']), default: '1', meaning: 'copies in a cluster: 1, 3 or 5' },
  NATS_MONITOR_URL: {
    kind: ORIGIN,
    otherwise: "port 8222 of NATS_URL's host",
    meaning: 'monitoring of the server, which tells whether it syncs before it acknowledges',
  },
  EVENT_BUFFER_BYTES_MAX: {
    kind: bytes(16_777_216, Number.MAX_SAFE_INTEGER),
    default: '8589934592',
    meaning: 'usage events that may wait for the database, in bytes; beyond, 503',
  },
  EVENT_RETENTION_DAYS: {
    kind: duration('days', 0, 36_500),
    default: '0',
    meaning: 'days after which usage events are deleted; 0 keeps them',
  },
  ...MODEL_SETTINGS,
  UPLOAD_BYTES_MAX: {
    kind: bytes(1, S3_OBJECT_BYTES_MAX),
    default: String(S3_OBJECT_BYTES_MAX),
    meaning: 'largest file, in bytes',
  },
  UPLOAD_RETENTION_SECONDS: {
    kind: duration('seconds', 1, 31_536_000),
    default: '86400',
    meaning: 'age at which unconfirmed uploads and orphans are swept',
  },
  SWEEP_INTERVAL_SECONDS: {
    kind: duration('seconds', 1, 86_400),
    default: '3600',
    meaning: 'pause between two sweeps',
  },
  TRASH_RETENTION_DAYS: {
    kind: duration('days', 0, 36_500),
    default: '0',
    meaning: 'days after which binned documents are purged; 0 keeps them',
  },
  CONTENT: {
    kind: choice(['on', 'off']),
    default: 'on',
    meaning: 'whether the files of documents are read, so that their text is kept and found',
  },
  CONTENT_BYTES_MAX: {
    kind: bytes(1, 1_073_741_824),
    default: '104857600',
    meaning: 'largest file that is read, in bytes',
  },
  VECTORS_MEMORY_BYTES_MAX: {
    kind: bytes(16_777_216, 17_179_869_184),
    default: '1073741824',
    meaning: 'memory of each process for vectors, about 400 bytes a passage; beyond, pgvector or words alone',
  },
  VECTORS_GRAPH_PASSAGES_MIN: {
    kind: integer(0, 2_147_483_647),
    default: '1000000',
    meaning: 'passages from which on pgvector searches a workspace, where the database has it; 0: never',
  },
  RETRIEVAL_TIMEOUT_MS: {
    kind: duration('milliseconds', 100, 60_000),
    default: '1500',
    meaning: 'time that an answer waits for the search in documents; then it is made without',
  },
  AUDIT_RETENTION_DAYS: {
    kind: duration('days', 0, 36_500),
    default: '0',
    meaning:
      'days after which rows of the audit log, and of the histories of documents, are deleted; 0 keeps them',
  },
  CONVERSATION_RETENTION_DAYS: {
    kind: duration('days', 0, 36_500),
    default: '0',
    meaning: 'days without a message after which a conversation is deleted; 0 keeps them',
  },
  ...SIGN_ON_SETTINGS,
  COMPUTE_THREADS: {
    kind: integer(1, 256),
    otherwise: 'cores, shared among PROCESSES',
    meaning: 'threads of each process for long computations, and as many for short ones and embeddings',
  },
  COMPUTE_QUEUE_MAX: {
    kind: integer(1, 1_000_000),
    default: '1024',
    meaning: 'requests of one address that may wait for them, long and short ones counted apart; beyond, 503',
  },
  CORS_ORIGINS: {
    kind: ORIGINS,
    otherwise: 'none',
    meaning: 'comma-separated origins, or *; also for the embedded object store',
  },
  TRUSTED_PROXIES: {
    kind: PROXIES,
    otherwise: 'none',
    meaning: 'addresses or CIDRs of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed',
  },
  BOOTSTRAP_WORKSPACE: { kind: WORKSPACE, otherwise: 'none', meaning: 'workspace to create at start' },
  BOOTSTRAP_API_KEY: {
    kind: pattern(/^[\x21-\x7e]{32,512}$/, 'at least 32 visible ASCII characters'),
    otherwise: 'none',
    meaning: 'its first key, at least 32 characters',
    secret: true,
  },
  LOG_LEVEL: { kind: choice(LOG_LEVELS), default: 'info', meaning: 'debug, info, warn, error or silent' },
  LOG_FORMAT: {
    kind: choice(['json', 'pretty']),
    otherwise: 'pretty on a terminal, else json',
    meaning: 'pretty or json',
  },
  SHUTDOWN_TIMEOUT_MS: {
    kind: duration('milliseconds', 100, 3_600_000),
    default: '20000',
    meaning: 'time for running requests and jobs after SIGTERM',
  },
  SHUTDOWN_DELAY_MS: {
    kind: duration('milliseconds', 0, 600_000),
    default: '0',
    meaning: 'time before that in which only /readyz refuses, so that balancers send nothing more',
  },
  USAGE_SUMS_RETENTION_DAYS: {
    kind: duration('days', 0, 36_500),
    default: '0',
    meaning: 'days after which sums of usage events and of models are deleted; 0 keeps them',
  },
  STRICT_SETTINGS: {
    kind: choice(['true', 'false']),
    default: 'false',
    meaning: 'true: a variable that looks like a setting and is none ends the start; else it is told',
  },
  PROCESSES: { kind: integer(1, 256), default: '1', meaning: 'processes that share the port and the data' },
  ...TRACING_SETTINGS,
} satisfies Record<string, Setting>;
