// The object store behind the areas: the configured one, or the embedded one.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config, S3Settings } from '../config.ts';
import { replaceFile } from '../core/durable.ts';
import { randomBase62 } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { isLoopback, toOrigin } from '../core/origin.ts';
import { startObjectStore } from '../embedded/object-store/index.ts';

/** Where the embedded store is, or would be. */
const objectStoreFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'object-store');

/** Of the embedded store. */
const ACCESS_KEY_ID = 'atrium';

/** The address and the keys of the store that a running service embeds. */
export function readEmbeddedObjects(config: Config, log: Logger): S3Settings | undefined {
  const identity = readIdentity(`${objectStoreFolder(config)}.json`, log);
  if (identity === undefined) return undefined;
  const endpoint = toOrigin(config.server.host, identity.port);
  const { secretAccessKey } = identity;
  return { endpoint, publicEndpoint: endpoint, accessKeyId: ACCESS_KEY_ID, secretAccessKey };
}

/** Starts it, with the port and the secret of its last start where possible. */
export async function startEmbeddedObjects(
  config: Config,
  log: Logger,
): Promise<{ settings: S3Settings; close(): Promise<void> }> {
  const directory = objectStoreFolder(config);
  const identity = readIdentity(`${directory}.json`, log) ?? { secretAccessKey: randomBase62(30), port: 0 };
  const options = {
    directory,
    host: config.server.host,
    region: config.objects.region,
    bucket: config.objects.bucket,
    accessKeyId: ACCESS_KEY_ID,
    secretAccessKey: identity.secretAccessKey,
    corsOrigins: config.server.corsOrigins,
  };
  const fixedPort = config.objects.embeddedPort;
  const store =
    fixedPort > 0 || identity.port === 0
      ? await startObjectStore({ ...options, port: fixedPort }, log)
      : // URLs that were signed before a restart go on working, unless another program has the port by now.
        await startObjectStore({ ...options, port: identity.port }, log).catch(() =>
          startObjectStore({ ...options, port: 0 }, log),
        );
  const port = Number(new URL(store.endpoint).port);
  writeIdentity(`${directory}.json`, { ...identity, port });
  const { endpoint } = store;
  if (config.objects.publicEndpoint === undefined && !isLoopback(options.host))
    log.warn(
      { endpoint },
      'signed URLs name this machine as it sees itself; set S3_PUBLIC_ENDPOINT for other clients',
    );
  return {
    settings: {
      endpoint,
      publicEndpoint: config.objects.publicEndpoint ?? endpoint,
      accessKeyId: options.accessKeyId,
      secretAccessKey: options.secretAccessKey,
    },
    close: store.close,
  };
}

/** It must stay the same from start to start: signed URLs depend on both. */
type StoreIdentity = { secretAccessKey: string; port: number };

/** Undefined at the first start, and for a file that is damaged: then only the URLs that were given out are lost. */
function readIdentity(file: string, log: Logger): StoreIdentity | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const held = JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<string, unknown>> | null;
    const { secretAccessKey, port } = held ?? {};
    if (typeof secretAccessKey === 'string' && typeof port === 'number') return { secretAccessKey, port };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  log.warn({ file }, 'the file is damaged: URLs that were signed before this start are refused');
  return undefined;
}

function writeIdentity(file: string, identity: StoreIdentity): void {
  replaceFile(file, JSON.stringify(identity));
}
