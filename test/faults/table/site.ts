// What a cell runs on: the service with a real server of each kind, or, for faults of its disk, with everything embedded on a
// disk that can be filled or fails.

import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/child.ts';
import { missingFaultyDisk } from '../../support/faulty-disk.ts';
import { mountDisk, type SmallDisk } from '../../support/small-disk.ts';
import type { TcpProxy } from '../../support/tcp-proxy.ts';
import { findAvailable } from '../seeds/parts/available.ts';
import type { Part } from '../seeds/parts/part.ts';
import type { PlannedParts } from '../seeds/planned.ts';
import { type Site, startSite } from '../seeds/site.ts';
import type { Fault, Service } from './cells.ts';
import { missingMeilisearch, startIdentityProvider, startMeilisearch, startUpstream } from './servers.ts';

export type TableSite = AsyncDisposable & {
  site: Site;
  parts: PlannedParts;
  /** The server that the cell is about; absent for the disk. */
  server: { part: Part; link: TcpProxy | undefined } | undefined;
  /** The disk of that server, where it can be filled. */
  disk: SmallDisk | undefined;
  /** Takes everything from that server, which does not run. */
  wipe(): void;
};

/** Answers that take 2 s are waited for. */
const MODEL_TIMEOUTS_MS = { connect: 2000, first_byte: 5000, idle: 5000, total: 10_000 };
const DISK_SIZE = '400m';
const STORED: Partial<Record<Service, 'database' | 'nats' | 'store'>> = {
  postgres: 'database',
  nats: 'nats',
  store: 'store',
};

/** Why the cell cannot be run on this machine; undefined where it can. */
export function missingOf(service: Service, fault: Fault): string | undefined {
  const available = findAvailable();
  if (service === 'meilisearch' && missingMeilisearch() !== undefined) return missingMeilisearch();
  if (!available.nats || !available.minio) return 'needs the servers of `bun run servers`';
  if (fault === 'full' && service !== 'upstream' && !available.smallDisk)
    return 'needs root, to mount a small disk';
  if (service === 'disk' && fault !== 'full') return missingFaultyDisk();
  return undefined;
}

function partsFor(service: Service, fault: Fault): PlannedParts {
  const plain = { processes: 1, steppedClock: false, steppedDatabaseClock: false, olderCopy: false } as const;
  if (service === 'disk')
    return {
      ...plain,
      database: 'embedded',
      buffer: 'journal',
      store: 'embedded',
      disk: fault === 'full' ? 'small' : 'faulty',
    };
  return { ...plain, database: 'server', buffer: 'nats', store: 'minio', disk: 'plain' };
}

export async function startTableSite(service: Service, fault: Fault, template: string): Promise<TableSite> {
  await using begun = new AsyncDisposableStack();
  const upstream = begun.use(await startUpstream());
  const port = freePort();
  const provider = begun.use(await startIdentityProvider(`http://127.0.0.1:${port}`));
  const stored = STORED[service];
  const isStored = stored !== undefined || service === 'meilisearch';
  const disk = isStored && fault === 'full' ? mountDisk(DISK_SIZE) : undefined;
  const root = disk?.path ?? mkdtempSync(join(tmpdir(), 'server-'));
  begun.defer(disk?.remove ?? (() => rmSync(root, { recursive: true, force: true })));
  const folder = join(root, 'data');
  mkdirSync(folder);
  const search =
    missingMeilisearch() === undefined && service !== 'disk'
      ? begun.use(
          await startMeilisearch(service === 'meilisearch' ? folder : join(tmpdir(), `meili-${port}`)),
        )
      : undefined;
  const parts = partsFor(service, fault);
  const site = await startSite(parts, {
    template,
    port,
    upstream: upstream.upstream,
    modelTimeoutsMs: MODEL_TIMEOUTS_MS,
    // The small disk of NATS has room for a buffer of this length.
    environment: {
      ...provider.environment,
      ...search?.environment,
      EVENT_BUFFER_BYTES_MAX: `${16 * 2 ** 20}`,
    },
    folders: stored === undefined ? {} : { [stored]: folder },
  });
  begun.defer(site.stop);
  const { database, store, nats } = site.parts;
  const { links } = site;
  const servers: Record<Service, TableSite['server']> = {
    postgres: { part: database, link: links.database },
    store: store && { part: store, link: links.store },
    nats: nats && { part: nats, link: links.nats },
    upstream: { part: upstream.part, link: links.models },
    provider,
    meilisearch: search,
    disk: undefined,
  };
  const kept = begun.move();
  return {
    site,
    parts,
    disk,
    server: servers[service],
    wipe() {
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
