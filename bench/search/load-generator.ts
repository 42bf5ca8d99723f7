// Requests, put through k6.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Load, runK6 } from '../lib/k6.ts';

export type Request = { url: string; key: string };
export type Patch = Request & { body: string };

export type Pace = { inFlight: number; seconds: number; perSecond?: number };

/** Asks with a fixed number in flight. */
export const ask = (requests: readonly Request[], pace: Pace): Promise<Load> =>
  generate('filter.js', requests, pace);

/** Changes documents, `perSecond` where that is given, else as many as go. */
export const change = (patches: readonly Patch[], pace: Pace): Promise<Load> =>
  generate('patch.js', patches, pace);

async function generate(script: string, requests: readonly Request[], pace: Pace): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-requests-'));
  try {
    const file = join(folder, 'requests.json');
    writeFileSync(file, JSON.stringify(requests));
    return await runK6(join(import.meta.dir, script), {
      REQUESTS: file,
      IN_FLIGHT: String(pace.inFlight),
      DURATION: `${pace.seconds}s`,
      ...(pace.perSecond === undefined ? {} : { RATE: String(pace.perSecond) }),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
