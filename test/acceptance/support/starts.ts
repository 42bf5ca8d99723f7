// Starts of the service as such: with nothing configured, or in vain.

import { startChild } from '../../support/child.ts';
import { MAIN, type RunningService, startService } from '../../support/service.ts';

const START_TIMEOUT_MS = 120_000;

/** The service with nothing configured but where it lives, at a terminal; files are read where that is said. */
export const startUnconfigured = (dataDir: string, content: 'on' | 'off' = 'off'): Promise<RunningService> =>
  startService({
    dataDir,
    terminal: true,
    environment: { BOOTSTRAP_WORKSPACE: '', BOOTSTRAP_API_KEY: '', CONTENT: content },
  });

/** A start that is expected to end by itself: its exit code and output. */
export async function startInVain(
  environment: Record<string, string>,
  ...options: string[]
): Promise<{ code: number; output: string }> {
  const child = startChild([process.execPath, MAIN, ...options], {
    environment: { PORT: '0', ...environment },
  });
  const late = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
  const code = await child.exited;
  clearTimeout(late);
  if (code === 137) throw new Error(`the service did not end by itself: ${child.output()}`);
  return { code, output: child.output() };
}
