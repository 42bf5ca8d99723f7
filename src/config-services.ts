// The settings of what the service stands on: stores, queues, models. config.ts puts them together.

import { resolve } from 'node:path';
import { isLoopback } from './core/origin.ts';
import { SettingsError, type SettingsReader } from './core/settings-reader.ts';

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

export type GatewaySettings = {
  /** Path of the models file; undefined: `openai`, or the models that are built in. */
  modelsFile: string | undefined;
  openai: { baseUrl: string; apiKey: string | undefined } | undefined;
  /** Whether models answer requests of this machine without a key. */
  anonymous: boolean;
  /** What the models file may name as `${VAR}`. */
  variable: (name: string) => string | undefined;
};

export function readStore(read: SettingsReader): S3Settings | undefined {
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

export function readMeilisearch(read: SettingsReader): MeilisearchSettings | undefined {
  const url = read.origin('MEILI_URL');
  const apiKey = read.text('MEILI_API_KEY');
  const indexPrefix =
    read.pattern('MEILI_INDEX_PREFIX', /^[a-zA-Z0-9_-]{1,64}$/, '1 to 64 of a-z, A-Z, 0-9, _ and -') ??
    'atrium';
  if (url !== undefined) return { url, apiKey, indexPrefix };
  if (apiKey !== undefined) throw new SettingsError('MEILI_API_KEY needs MEILI_URL, which is not set');
  return undefined;
}

export function readGateway(
  read: SettingsReader,
  environment: Record<string, string | undefined>,
): GatewaySettings {
  const modelsFile = read.text('MODELS_CONFIG');
  const baseUrl = read.url('OPENAI_BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, '');
  if (modelsFile !== undefined && baseUrl !== undefined) {
    throw new SettingsError(
      'MODELS_CONFIG and OPENAI_BASE_URL are both set: the models come from one of them',
    );
  }
  const host = (read.text('HOST') ?? '127.0.0.1').replace(/^\[(.+)\]$/, '$1');
  // A models file counts as one that names upstreams: read again, it may.
  const harmless = isLoopback(host) && modelsFile === undefined && baseUrl === undefined;
  const anonymous = read.choice('GATEWAY_ANONYMOUS', ['true', 'false'] as const) ?? String(harmless);
  return {
    modelsFile: modelsFile === undefined ? undefined : resolve(modelsFile),
    openai: baseUrl === undefined ? undefined : { baseUrl, apiKey: read.text('OPENAI_API_KEY') },
    anonymous: anonymous === 'true',
    variable: (name) => environment[name],
  };
}

export function readNats(read: SettingsReader): NatsSettings | undefined {
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
