// The process: environment → configuration → backing services → areas → server, and its signals.

import { version } from '../package.json';
import { type Config, loadConfig } from './config.ts';
import { messageOf } from './core/errors.ts';
import { createLogger, type ProcessLog } from './core/logger.ts';
import { renderSettings, SettingsError } from './core/settings-reader.ts';
import { checkDataFolder } from './embedded/data-folder.ts';
import { checkStart, refuseArguments } from './preflight.ts';
import { startBacking } from './processes/backing.ts';
import { linkToOwner, ONE_OF_SEVERAL, type Owner } from './processes/owner.ts';
import { runProcesses } from './processes/run.ts';
import { createSignals, renderEnding, type Signals } from './processes/signals.ts';
import { SETTINGS } from './settings.ts';
import { announceStart } from './welcome.ts';

const USAGE = `Usage: bun run start

Settings are read from the environment. Each secret one can come from a file instead: NAME_FILE is its path.

${renderSettings(SETTINGS)}
`;

async function main(owner: Owner | undefined): Promise<void> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(USAGE);
    return;
  }
  refuseArguments(process.argv.slice(2));
  const config = loadConfig(process.env, process.stdout.isTTY);
  const log = createLogger(config.log);
  const signals = createSignals(config.server.sharesPort);
  for (const sentence of config.unknownSettings) log.warn({}, sentence);
  try {
    await checkStart(config);
    // Last, for it makes the folder where there is none.
    if (owner === undefined) checkDataFolder(config.dataDir);
    if (config.processes > 1) await runProcesses(config, log, signals);
    else await runAlone(config, { log, signals, owner });
  } finally {
    await log.close();
  }
}

/** For the last spans, at the end. */
const SPANS_TIMEOUT_MS = 2000;

type Surroundings = { log: ProcessLog; signals: Signals; owner: Owner | undefined };

async function runAlone(config: Config, { log, signals, owner }: Surroundings): Promise<void> {
  const { ending, onReload } = signals;
  const startedAt = performance.now();
  const telemetry =
    config.tracing &&
    (await (await import('./infra/telemetry/index.ts')).startTelemetry(config.tracing, { version, log }));
  // Most of the program is loaded here, while the backing services start: not for `--help`, nor for settings that are refused, nor
  // by the owner of several processes.
  const [backing, { startService }] = await Promise.all([startBacking(config, log), import('./service.ts')]);
  try {
    // A start may wait for a database that is away; an end does not wait for the start.
    const service = await Promise.race([
      startService(config, backing, log, { siblings: owner?.siblings }),
      ending,
    ]);
    if (typeof service === 'string')
      return log.info({ signal: service }, 'ending before the start was complete');
    try {
      const readyMs = Math.round(performance.now() - startedAt);
      announceStart(config, log, { url: service.url, readyMs, ...service.first });
      owner?.ready();
      onReload(() => void service.reload());
      const signal = await ending;
      const running = service.running();
      const requests = running === 1 ? 'one request is' : `${running} requests are`;
      const work = running === 0 ? undefined : `${requests} finished first`;
      log.info({ signal }, renderEnding(signal, { work, ...config.server }));
    } finally {
      await service.stop();
    }
  } finally {
    await telemetry?.close(SPANS_TIMEOUT_MS);
    await backing.stop();
  }
}

/** A function of its own, for a build has no `await` at the top level. */
async function run(): Promise<never> {
  const owner = process.env[ONE_OF_SEVERAL] === '1' ? linkToOwner() : undefined;
  try {
    await main(owner);
    return process.exit(0);
  } catch (error) {
    const sentence = messageOf(error);
    if (owner === undefined) process.stderr.write(sentence.replaceAll(/^/gm, 'atrium: ').concat('\n'));
    else await owner.failed(sentence);
    return process.exit(error instanceof SettingsError ? 2 : 1);
  }
}

void run();
