// Loaded into the service before it: how late its event loop is, by a timer of 5 ms. SIGUSR2 writes what was seen since
// the last one into the file LOOP_DELAYS.

import { writeFileSync } from 'node:fs';

const PERIOD_MS = 5;
const file = process.env['LOOP_DELAYS'];

if (Bun.isMainThread && file !== undefined) {
  let delays: number[] = [];
  let due = performance.now() + PERIOD_MS;
  setInterval(() => {
    const now = performance.now();
    delays.push(Math.max(0, now - due));
    due = now + PERIOD_MS;
  }, PERIOD_MS).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(file, JSON.stringify(delays));
    delays = [];
  });
}
