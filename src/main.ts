// The process: environment → configuration → backing services → areas → server, and its signals.

import { type Config, loadConfig, renderSettings } from './config.ts';
import { createLogger, type ProcessLog } from './core/logger.ts';
import { SettingsError } from './core/settings-reader.ts';
import { checkStart, refuseArguments } from './preflight.ts';
import { runProcesses } from './processes.ts';
import { startService } from './service.ts';
import { createSignals, renderEnding, type Signals } from './signals.ts';
import { startBacking } from './supervisor.ts';
import { announceStart } from './welcome.ts';

const USAGE = `Usage: bun run start

Settings are read from the environment:

${renderSettings()}
`;

async function main(): Promise<void> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(USAGE);
    return;
  }
  refuseArguments(process.argv.slice(2));
  const config = loadConfig(process.env, process.stdout.isTTY);
  await checkStart(config);
  const log = createLogger(config.log);
  const signals = createSignals(config.server.sharesPort);
  try {
    await (config.processes > 1 ? runProcesses(config, log, signals) : runAlone(config, log, signals));
  } finally {
    await log.close();
  }
}

async function runAlone(config: Config, log: ProcessLog, { ending, onReload }: Signals): Promise<void> {
  const startedAt = performance.now();
  const backing = await startBacking(config, log);
  try {
    // A start may wait for a database that is away; an end does not wait for the start.
    const service = await Promise.race([startService(config, backing, log), ending]);
    if (typeof service === 'string')
      return log.info({ signal: service }, 'ending before the start was complete');
    try {
      const readyMs = Math.round(performance.now() - startedAt);
      announceStart(config, log, { url: service.url, readyMs, ...service.first });
      process.send?.('ready');
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
    await backing.stop();
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const sentence = error instanceof Error ? error.message : String(error);
  process.stderr.write(`atrium: ${sentence}\n`);
  process.exit(error instanceof SettingsError ? 2 : 1);
}
