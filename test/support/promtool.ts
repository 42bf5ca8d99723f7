// Prometheus' checker of rules: of the PATH, else where `.ci/run` puts it.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './cache.ts';
import { startChild } from './child.ts';

const INSTALLED = join(CACHE, '../tools/prometheus/usr/bin/promtool');
const PROMTOOL = Bun.which('promtool') ?? (existsSync(INSTALLED) ? INSTALLED : undefined);

if (PROMTOOL === undefined && process.env['REQUIRE_SERVERS'] === '1') throw new Error('promtool is required');

export const missingPromtool = PROMTOOL === undefined ? 'promtool is not installed' : undefined;

/** Its exit code and what it said. */
export async function runPromtool(
  command: readonly string[],
  directory: string,
): Promise<{ code: number; output: string }> {
  const child = startChild([PROMTOOL ?? 'promtool', ...command], { directory });
  const code = await child.exited;
  return { code, output: child.output() };
}
