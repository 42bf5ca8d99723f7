// Programs in Go that tests run, kept in the tree as source and built outside it: `bun run servers` builds them.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CACHE } from './cache.ts';

const PROGRAMS = {
  /** Uses the official CloudEvents SDK of Go. */
  'cloudevents-sender': join(import.meta.dir, '../acceptance/metrics/sdks/go'),
  /** Uses the loader of Docker Compose. */
  'compose-check': join(import.meta.dir, 'compose-check'),
  'faulty-disk': join(import.meta.dir, 'faulty-disk'),
};

export type GoProgram = keyof typeof PROGRAMS;

/** Another source is another binary. */
function binaryOf(name: GoProgram): string {
  const digest = createHash('sha256');
  const sources = readdirSync(PROGRAMS[name]).filter((file) => /\.go$|^go\.(mod|sum)$/.test(file));
  for (const file of sources.sort()) digest.update(readFileSync(join(PROGRAMS[name], file)));
  return join(CACHE, `${name}-${digest.digest('hex').slice(0, 12)}`, name);
}

/** The binary; undefined where it is not built. */
export function findGoProgram(name: GoProgram): string | undefined {
  const binary = binaryOf(name);
  return existsSync(binary) ? binary : undefined;
}

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingGoProgram(name: GoProgram): string | undefined {
  if (findGoProgram(name) !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error(`${name} is required, but not built: bun run servers`);
  return `needs ${name}: bun run servers`;
}

/** Builds what is not there yet. Needs Go. */
export async function buildGoPrograms(): Promise<void> {
  for (const name of Object.keys(PROGRAMS) as GoProgram[]) {
    if (findGoProgram(name) !== undefined) {
      console.log(`${name} is there`);
      continue;
    }
    mkdirSync(dirname(binaryOf(name)), { recursive: true });
    const child = Bun.spawn(['go', 'build', '-o', binaryOf(name), '.'], {
      cwd: PROGRAMS[name],
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if ((await child.exited) !== 0) throw new Error(`${name} could not be built`);
    console.log(`${name} is built`);
  }
}
