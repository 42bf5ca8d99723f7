// Checks that a start can succeed, made before anything is started.

import { accessSync, constants } from 'node:fs';
import type { Config } from './config.ts';
import { explain } from './core/errors.ts';
import { createSettingsMistakes, SettingsError } from './core/settings-reader.ts';
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

/** Throws SettingsError with all mistakes, or one line in an Error for a port that is in use or data that cannot be read. */
export async function checkStart(config: Config): Promise<void> {
  const mistakes = createSettingsMistakes();
  const check = async (look: () => Promise<void> | void): Promise<void> => {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof SettingsError)) {
        mistakes.refuse();
        throw error;
      }
      mistakes.add(error.message);
    }
  };
  await check(() => checkModels(toSource(config.gateway)));
  await check(() => checkFile('NATS_CREDS', config.usage.nats?.creds));
  await check(() => {
    if (config.databaseUrl === undefined) checkDataVersion(postgresFolder(config));
  });
  // One of several processes shares the port that their owner has looked at.
  if (!config.server.sharesPort) await check(() => checkPorts(config));
  mistakes.refuse();
}

async function checkPorts({ server: { host: hostname, port }, objects }: Config): Promise<void> {
  (await holdPort('PORT', { hostname, port })).release();
  if (objects.external === undefined)
    (await holdPort('OBJECT_STORE_PORT', { hostname, port: objects.embeddedPort })).release();
}

function checkFile(setting: string, path: string | undefined): void {
  if (path === undefined) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new SettingsError(`${setting}: ${path}: ${explain(error)}`);
  }
}
