// The real servers and tools that tests and benchmarks use beside the embedded ones: which they are, where `bun run servers`
// puts them (outside the tree), and how to find them again.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './cache.ts';
import { buildGoPrograms } from './go-programs.ts';
import { installPython } from './python-sdk.ts';

type Server = { module: string; version: string };

export const SERVERS = {
  minio: { module: 'github.com/minio/minio', version: 'v0.0.0-20260212201848-7aac2a2c5b7c' },
  versitygw: { module: 'github.com/versity/versitygw/cmd/versitygw', version: 'v1.7.0' },
  'nats-server': { module: 'github.com/nats-io/nats-server/v2', version: 'v2.15.2' },
  k6: { module: 'go.k6.io/k6', version: 'v1.8.1' },
  helm: { module: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' },
  /** Has the schemas of Kubernetes in it. */
  'kubectl-validate': { module: 'sigs.k8s.io/kubectl-validate', version: 'v0.0.4' },
} as const satisfies Record<string, Server>;

export type ServerName = keyof typeof SERVERS;

const folderOf = (name: ServerName): string => join(CACHE, `${name}-${SERVERS[name].version}`);

/** The binary of a server: of the cache, else of the PATH; undefined where it is not installed. */
export function findServer(name: ServerName): string | undefined {
  const cached = join(folderOf(name), name);
  return existsSync(cached) ? cached : (Bun.which(name) ?? undefined);
}

/** Builds whatever is not in the cache yet. Needs Go. */
async function installServers(): Promise<void> {
  for (const name of Object.keys(SERVERS) as ServerName[]) {
    const { module, version } = SERVERS[name];
    const folder = folderOf(name);
    if (existsSync(join(folder, name))) {
      console.log(`${name} ${version} is there`);
      continue;
    }
    console.log(`${name} ${version} is being built…`);
    mkdirSync(folder, { recursive: true });
    const build = Bun.spawn(['go', 'install', `${module}@${version}`], {
      env: { ...process.env, GOBIN: folder },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if ((await build.exited) !== 0) throw new Error(`${name} could not be built`);
  }
}

if (import.meta.main) {
  try {
    if (Bun.which('go') === null) throw new Error('the servers are built with Go, which is not on the PATH');
    await installServers();
    console.log(await installPython());
    await buildGoPrograms();
  } catch (error) {
    console.error(`servers: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}
