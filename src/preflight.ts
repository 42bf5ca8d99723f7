// Checks that a start can succeed, made before anything is started.

import { accessSync, constants } from 'node:fs';
import type { Config } from './config.ts';
import { explain } from './core/errors.ts';
import { SettingsError } from './core/settings-reader.ts';
import { postgresFolder } from './database.ts';
import { checkDataVersion } from './embedded/postgres/index.ts';
import { checkModels, toSource } from './gateway/index.ts';
import { holdPort } from './processes/port.ts';

/** Throws SettingsError: there are settings, and no arguments. */
export function refuseArguments(given: readonly string[]): void {
  const [first] = given;
  if (first === undefined) return;
  throw new SettingsError(
    `${JSON.stringify(first)} is not understood: settings come from the environment, as in PORT=3001 bun run start; --help lists them`,
  );
}

/** Throws one line: SettingsError with the setting's name, or Error for a port that cannot be had or data that cannot be read. */
export async function checkStart(config: Config): Promise<void> {
  await checkModels(toSource(config.gateway));
  checkFile('NATS_CREDS', config.usage.nats?.creds);
  if (config.databaseUrl === undefined) checkDataVersion(postgresFolder(config));
  const { host: hostname, port, sharesPort } = config.server;
  // One of several processes shares the port that their owner has looked at.
  if (sharesPort) return;
  (await holdPort('PORT', { hostname, port })).release();
  if (config.objects.external === undefined)
    (await holdPort('OBJECT_STORE_PORT', { hostname, port: config.objects.embeddedPort })).release();
}

function checkFile(setting: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new SettingsError(`${setting}: ${path}: ${explain(error)}`);
  }
}
