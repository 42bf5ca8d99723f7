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
  checkPort('PORT', host, port);
  if (config.objects.external === undefined)
    checkPort('OBJECT_STORE_PORT', host, config.objects.embeddedPort);
}

function checkFile(setting: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new SettingsError(`${setting}: ${path}: ${explain(error)}`);
  }
}

/** Listens there for a moment. */
function checkPort(setting: string, hostname: string, port: number): void {
  try {
    Bun.listen({ hostname, port, socket: { data: () => undefined } }).stop(true);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new Error(
        `${setting}: ${port} is in use on ${hostname} (is the service running already?); set another, or 0 for a free one`,
      );
    }
    if (code === 'EACCES')
      throw new Error(`${setting}: ${port} needs privileges that this process does not have; set another`);
    throw new SettingsError(
      `HOST: ${JSON.stringify(hostname)} is no address of this machine; set 127.0.0.1, or 0.0.0.0 for all of them`,
    );
  }
}
