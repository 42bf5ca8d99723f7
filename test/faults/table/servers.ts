// The servers of the table that no seed has: an upstream of models, an identity provider and a search server, each a process
// behind a proxy.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, freePort, startChild } from '../../support/child.ts';
import { startMockUpstream } from '../../support/mock-upstream.ts';
import { CLIENT_ID, CLIENT_SECRET, newSigningKey } from '../../support/oidc/provider.ts';
import { WORKSPACE } from '../../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import type { ModelUpstream } from '../seeds/parts/models.ts';
import type { Part } from '../seeds/parts/part.ts';
import { restartable } from '../seeds/parts/servers.ts';

export type Server = AsyncDisposable & {
  part: Part;
  link: TcpProxy;
  /** The service's settings that name it. */
  environment: Record<string, string>;
};

/** A process that is started again on the same port. */
async function startPart(launch: () => Child, isThere: (child: Child) => Promise<boolean>): Promise<Part> {
  let child: Child | undefined;
  const start = async (): Promise<void> => {
    const started = launch();
    child = started;
    let exited = false;
    void started.exited.then(() => {
      exited = true;
    });
    await eventually('a server to listen', async () => {
      if (exited) throw new Error(`a server ended: ${started.output()}`);
      return isThere(started);
    });
  };
  await start();
  return restartable({
    start,
    async kill() {
      child?.kill('SIGKILL');
      await child?.exited;
    },
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
  });
}

const answers = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false,
  );

export async function startUpstream(): Promise<AsyncDisposable & { part: Part; upstream: ModelUpstream }> {
  const port = freePort();
  let mock = await startMockUpstream(port);
  const { url } = mock;
  const part = restartable({
    async start() {
      mock = await startMockUpstream(port);
    },
    async kill() {
      process.kill(mock.pid, 'SIGKILL');
      await mock.stop();
    },
    pause: () => process.kill(mock.pid, 'SIGSTOP'),
    resume: () => process.kill(mock.pid, 'SIGCONT'),
  });
  return {
    part,
    upstream: { url, strike: (key, fault) => mock.strike(key, fault) },
    [Symbol.asyncDispose]: part.kill,
  };
}

const PROVIDER = join(import.meta.dir, 'identity-provider.ts');
const ROLES = [{ group: 'people', workspace: WORKSPACE, scopes: ['chat'] }];

export async function startIdentityProvider(serviceUrl: string): Promise<Server> {
  const port = freePort();
  const link = await startTcpProxy(`http://127.0.0.1:${port}`);
  const issuer = new URL(link.url).origin;
  const environment = {
    PORT: `${port}`,
    ISSUER: issuer,
    SERVICE: serviceUrl,
    SIGNING_KEY: JSON.stringify(newSigningKey()),
  };
  const part = await startPart(
    () => startChild([process.execPath, PROVIDER], { environment }),
    async (child) => child.output().includes('listens'),
  );
  return {
    part,
    link,
    environment: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_ROLES: JSON.stringify(ROLES),
    },
    async [Symbol.asyncDispose]() {
      await part.kill();
      await link.close();
    },
  };
}

/** Why there is no search server here; undefined where there is one. */
export const missingMeilisearch = (): string | undefined => {
  const binary = process.env['MEILI_BINARY'];
  return binary !== undefined && existsSync(binary) ? undefined : 'needs `MEILI_BINARY`';
};

const MEILI_KEY = 'a-key-of-the-table-alone';

/** With its data in `folder`. */
export async function startMeilisearch(folder: string): Promise<Server> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const link = await startTcpProxy(url);
  const own = mkdtempSync(join(tmpdir(), 'meilisearch-'));
  const command = [process.env['MEILI_BINARY'] ?? 'meilisearch', '--db-path', folder];
  const part = await startPart(
    () => {
      mkdirSync(folder, { recursive: true });
      return startChild([...command, '--http-addr', `127.0.0.1:${port}`, '--env', 'development'], {
        environment: { MEILI_MASTER_KEY: MEILI_KEY, MEILI_NO_ANALYTICS: 'true' },
        directory: own,
      });
    },
    () => answers(`${url}/health`),
  );
  return {
    part,
    link,
    environment: { MEILI_URL: new URL(link.url).origin, MEILI_API_KEY: MEILI_KEY },
    async [Symbol.asyncDispose]() {
      await part.kill();
      await link.close();
      rmSync(own, { recursive: true, force: true });
    },
  };
}
