// A program that uses the official CloudEvents SDK of Go, built outside the tree: `bun run servers` builds it.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './cache.ts';

const SOURCE = join(import.meta.dir, '../acceptance/metrics/sdks/go');

/** Another source is another binary. */
function binary(): string {
  const digest = createHash('sha256');
  for (const name of ['main.go', 'go.mod', 'go.sum']) digest.update(readFileSync(join(SOURCE, name)));
  return join(CACHE, `go-sdk-${digest.digest('hex').slice(0, 12)}`, 'send');
}

/** The program; undefined where it is not built. */
export const findGoSender = (): string | undefined => (existsSync(binary()) ? binary() : undefined);

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingGoSender(): string | undefined {
  if (findGoSender() !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error("Go's CloudEvents SDK is required, but not built: bun run servers");
  return "needs Go's CloudEvents SDK: bun run servers";
}

/** Needs Go. Returns what there is to say. */
export async function buildGoSender(): Promise<string> {
  if (findGoSender() !== undefined) return "Go's SDK is there";
  mkdirSync(join(binary(), '..'), { recursive: true });
  const child = Bun.spawn(['go', 'build', '-o', binary(), '.'], {
    cwd: SOURCE,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if ((await child.exited) !== 0) throw new Error("Go's SDK could not be built");
  return "Go's SDK is built";
}
