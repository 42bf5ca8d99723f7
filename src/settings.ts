// The settings, as people read of them. config.ts reads their values.

type Variable = { name: string; default: string; meaning: string; secret?: true };

const VARIABLES: readonly Variable[] = [
  { name: 'HOST', default: '127.0.0.1', meaning: 'address to listen on' },
  { name: 'PORT', default: '3000', meaning: 'port to listen on; 0 picks a free one and prints it' },
  { name: 'DATA_DIR', default: './data', meaning: 'everything embedded lives here, and nowhere else' },
  {
    name: 'DATABASE_URL',
    default: 'embedded Postgres',
    meaning: 'postgres://user:password@host/database',
    secret: true,
  },
  {
    name: 'S3_ENDPOINT',
    default: 'embedded object store',
    meaning: 'origin by which the service reaches the store',
  },
  {
    name: 'S3_PUBLIC_ENDPOINT',
    default: 'S3_ENDPOINT',
    meaning: 'origin by which clients reach it; signed URLs name it',
  },
  { name: 'S3_REGION', default: 'us-east-1', meaning: 'region that signatures name' },
  {
    name: 'S3_BUCKET',
    default: 'atrium',
    meaning: 'bucket, for this service alone; created when it is absent',
  },
  { name: 'S3_ACCESS_KEY_ID', default: 'none', meaning: 'credentials of the store', secret: true },
  { name: 'S3_SECRET_ACCESS_KEY', default: 'none', meaning: 'credentials of the store', secret: true },
  { name: 'S3_FORM_PROFILE', default: 'standard', meaning: 'mix of form fields: standard, aws or seaweedfs' },
  {
    name: 'OBJECT_STORE_PORT',
    default: '0',
    meaning: 'port of the embedded object store; 0 picks a free one',
  },
  {
    name: 'MEILI_URL',
    default: 'Postgres answers searches',
    meaning: 'origin of a Meilisearch server that mirrors the documents and answers searches too',
  },
  {
    name: 'MEILI_API_KEY',
    default: 'none',
    meaning: 'its key: indexes, documents, settings, tasks',
    secret: true,
  },
  { name: 'MEILI_INDEX_PREFIX', default: 'atrium', meaning: 'what the names of its indexes begin with' },
  {
    name: 'NATS_URL',
    default: 'embedded journal',
    meaning: 'nats://host:4222 of servers with JetStream, comma-separated; usage events wait there',
    secret: true,
  },
  { name: 'NATS_CREDS', default: 'none', meaning: 'path of a credentials file for them' },
  {
    name: 'NATS_STREAM_PREFIX',
    default: 'ATRIUM',
    meaning: 'what the names of streams and subjects begin with',
  },
  { name: 'NATS_REPLICAS', default: '1', meaning: 'copies of the stream in a cluster: 1, 3 or 5' },
  {
    name: 'NATS_MONITOR_URL',
    default: "port 8222 of NATS_URL's host",
    meaning: 'monitoring of the server, which tells whether it syncs before it acknowledges',
  },
  {
    name: 'EVENT_BUFFER_BYTES_MAX',
    default: '8589934592',
    meaning: 'usage events that may wait for the database, in bytes; beyond, 503',
  },
  {
    name: 'EVENT_RETENTION_DAYS',
    default: '0',
    meaning: 'days after which usage events are deleted; 0 keeps them',
  },
  {
    name: 'MODELS_CONFIG',
    default: 'the built-in models',
    meaning: 'path of the models file; read again on SIGHUP',
  },
  {
    name: 'OPENAI_BASE_URL',
    default: 'none',
    meaning: 'one upstream, https://host/v1, and every model that it lists',
  },
  { name: 'OPENAI_API_KEY', default: 'none', meaning: 'its key', secret: true },
  {
    name: 'GATEWAY_ANONYMOUS',
    default: 'true on loopback, no upstream',
    meaning: 'whether models answer requests of this machine without a key',
  },
  { name: 'UPLOAD_BYTES_MAX', default: '5368709120', meaning: 'largest file, in bytes' },
  {
    name: 'UPLOAD_RETENTION_SECONDS',
    default: '86400',
    meaning: 'age at which unconfirmed uploads and orphans are swept',
  },
  { name: 'SWEEP_INTERVAL_SECONDS', default: '3600', meaning: 'pause between two sweeps' },
  {
    name: 'TRASH_RETENTION_DAYS',
    default: '0',
    meaning: 'days after which binned documents are purged; 0 keeps them',
  },
  {
    name: 'COMPUTE_THREADS',
    default: 'cores, shared among PROCESSES',
    meaning: 'threads of each process for /compute and embeddings',
  },
  {
    name: 'COMPUTE_QUEUE_MAX',
    default: '1024',
    meaning: 'requests that may wait for them, long and short ones counted apart; beyond, 503',
  },
  {
    name: 'CORS_ORIGINS',
    default: 'none',
    meaning: 'comma-separated origins, or *; also for the embedded object store',
  },
  { name: 'BOOTSTRAP_WORKSPACE', default: 'none', meaning: 'workspace to create at start' },
  {
    name: 'BOOTSTRAP_API_KEY',
    default: 'none',
    meaning: 'its first key, at least 32 characters',
    secret: true,
  },
  { name: 'LOG_LEVEL', default: 'info', meaning: 'debug, info, warn, error or silent' },
  { name: 'LOG_FORMAT', default: 'pretty on a terminal, else json', meaning: 'pretty or json' },
  {
    name: 'SHUTDOWN_TIMEOUT_MS',
    default: '20000',
    meaning: 'time for running requests and jobs after SIGTERM',
  },
  { name: 'PROCESSES', default: '1', meaning: 'processes that share the port and the data' },
];

/** Those whose values are never shown. */
export const SECRETS = new Set(VARIABLES.filter(({ secret }) => secret === true).map(({ name }) => name));

/** The table that `bun run start --help` prints. */
export function renderSettings(): string {
  const width = (column: 'name' | 'default') =>
    Math.max(...VARIABLES.map((variable) => variable[column].length));
  return VARIABLES.map(
    (variable) =>
      `  ${variable.name.padEnd(width('name'))}  ${variable.default.padEnd(width('default'))}  ${variable.meaning}`,
  ).join('\n');
}
