// What would keep a start from serving, found before anything is started.

import { accessSync, constants } from 'node:fs';
import type { Config } from './config.ts';
import { explain } from './core/errors.ts';
import { SettingsError } from './core/settings-reader.ts';
import { checkModels, toSource } from './gateway/index.ts';

/** Throws SettingsError: there are settings, and no arguments. */
export function refuseArguments(given: readonly string[]): void {
  const [first] = given;
  if (first === undefined) return;
  throw new SettingsError(
    `${JSON.stringify(first)} is not understood: settings come from the environment, as in PORT=3001 bun run start; --help lists them`,
  );
}

/** Throws one line that names the setting: SettingsError, or Error for a port that cannot be had. */
export async function checkStart(config: Config): Promise<void> {
  await checkModels(toSource(config.gateway));
  checkFile('NATS_CREDS', config.usage.nats?.creds);
  const { host, port, sharesPort } = config.server;
  // One of several processes shares the port that their owner has looked at.
  if (sharesPort) return;
  await checkPort('PORT', host, port);
  if (config.objects.external === undefined)
    await checkPort('OBJECT_STORE_PORT', host, config.objects.embeddedPort);
}

function checkFile(setting: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new SettingsError(`${setting}: ${path}: ${explain(error)}`);
  }
}

/** A process that was killed a moment ago may still have the port. */
const PORT_WAIT_MS = 1000;
const PORT_RETRY_MS = 50;

/** Listens there for a moment. */
async function checkPort(setting: string, hostname: string, port: number): Promise<void> {
  const deadline = performance.now() + PORT_WAIT_MS;
  let error = listenOnce(hostname, port);
  while (codeOf(error) === 'EADDRINUSE' && performance.now() < deadline) {
    await Bun.sleep(PORT_RETRY_MS);
    error = listenOnce(hostname, port);
  }
  if (error === undefined) return;
  if (codeOf(error) === 'EADDRINUSE') {
    throw new Error(
      `${setting}: ${port} is in use on ${hostname} (is the service running already?); set another, or 0 for a free one`,
    );
  }
  if (codeOf(error) === 'EACCES')
    throw new Error(`${setting}: ${port} needs privileges that this process does not have; set another`);
  throw new SettingsError(
    `HOST: ${JSON.stringify(hostname)} is no address of this machine; set 127.0.0.1, or 0.0.0.0 for all of them`,
  );
}

/** What keeps it from listening. */
function listenOnce(hostname: string, port: number): unknown {
  try {
    Bun.listen({ hostname, port, socket: { data: () => undefined } }).stop(true);
    return undefined;
  } catch (error) {
    return error;
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
