// Requests, put through k6.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Load, runK6 } from '../lib/k6.ts';

export type Request = { url: string; key: string };
type Pace = { inFlight: number; seconds: number };

/** Asks with a fixed number in flight. */
export async function ask(requests: readonly Request[], { inFlight, seconds }: Pace): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-requests-'));
  try {
    const file = join(folder, 'requests.json');
    writeFileSync(file, JSON.stringify(requests));
    return await runK6(join(import.meta.dir, 'filter.js'), {
      REQUESTS: file,
      IN_FLIGHT: String(inFlight),
      DURATION: `${seconds}s`,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
