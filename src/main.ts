// The process: environment → configuration → backing services → areas → server, and its signals.

import { type Config, loadConfig, renderSettings } from './config.ts';
import { createLogger, type Logger } from './core/logger.ts';
import { SettingsError } from './core/settings-reader.ts';
import { keepFirstKey } from './first-key.ts';
import { runProcesses } from './processes.ts';
import { startService } from './service.ts';
import { startBacking } from './supervisor.ts';
import { renderWelcome } from './welcome.ts';

const USAGE = `Usage: bun run start

Settings are read from the environment:

${renderSettings()}
`;

async function main(): Promise<void> {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(USAGE);
    return;
  }
  const config = loadConfig(process.env, process.stdout.isTTY);
  const log = createLogger(config.log);
  const ending = whenToldToEnd(config.server.sharesPort);
  try {
    await (config.processes > 1 ? runProcesses(config, log, ending) : runAlone(config, log, ending));
  } finally {
    await log.close();
  }
}

async function runAlone(config: Config, log: Logger, ending: Promise<string>): Promise<void> {
  const startedAt = performance.now();
  const backing = await startBacking(config, log);
  try {
    // A start may wait for a database that is away; an end does not wait for the start.
    const service = await Promise.race([startService(config, backing, log), ending]);
    if (typeof service === 'string')
      return log.info({ signal: service }, 'ending before the start was complete');
    try {
      const first = await keepFirstKey(config, backing, service.bootstrap);
      const readyMs = Math.round(performance.now() - startedAt);
      if (config.announces) process.stdout.write(renderWelcome({ url: service.url, readyMs, ...first }));
      process.send?.('ready');
      log.info({ signal: await ending }, 'ending');
    } finally {
      await service.stop();
    }
  } finally {
    await backing.stop();
  }
}

/**
 * The first SIGTERM or SIGINT begins an orderly end, a second one does not wait for it. One of several processes ends
 * also when their owner has died: what it serves from has died with it, and the next start needs the port. It is told
 * twice of one end where the whole group is told (by a terminal, or systemd), so that only its owner cuts it short.
 */
function whenToldToEnd(oneOfSeveral: boolean): Promise<string> {
  return new Promise((resolve) => {
    let told = false;
    process.on('disconnect', () => resolve('the owner has ended'));
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (told && !oneOfSeveral) process.exit(130);
        told = true;
        resolve(signal);
      });
    }
  });
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const sentence = error instanceof Error ? error.message : String(error);
  process.stderr.write(`atrium: ${sentence}\n`);
  process.exit(error instanceof SettingsError ? 2 : 1);
}
