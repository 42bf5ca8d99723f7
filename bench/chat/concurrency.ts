// Many conversations at once against a model that takes a second: what it allows, and what is reached.

import { milliseconds, printTable } from '../lib/report.ts';
import { measure, newSession, percentile, send, startSetting } from './setting.ts';

const SESSIONS = 200;
const MODEL_MS = 1000;
const TARGET = 0.95;
const WARM_UP_SECONDS = 2;

export async function measureConcurrency(seconds: number): Promise<void> {
  await using setting = await startSetting({ modelDelayMs: MODEL_MS });
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => newSession(setting)));
  // People do not begin in the same moment, and from then on each goes on by themselves.
  const begun = sessions.map((_, index) => Bun.sleep((index * MODEL_MS) / SESSIONS));
  const from = performance.now() + WARM_UP_SECONDS * 1000;
  const until = from + seconds * 1000;
  const times: number[] = [];
  const lines = sessions.map(({ name }, index) => async () => {
    await begun[index];
    const tookMs = await send(setting, name, 'How many go on at once?');
    const now = performance.now();
    if (now >= from && now < until) times.push(tookMs);
    return tookMs;
  });
  await measure(WARM_UP_SECONDS + seconds, lines);
  times.sort((one, other) => one - other);
  const perSecond = times.length / seconds;
  const allowed = SESSIONS / (MODEL_MS / 1000);
  const share = perSecond / allowed;
  printTable(
    `${SESSIONS} sessions at once, a model of ${MODEL_MS} ms`,
    ['answers/s', 'of what the model allows', 'p50 ms', 'p99 ms', 'target'],
    [
      [
        perSecond.toFixed(1),
        share.toFixed(3),
        milliseconds(percentile(times, 0.5)),
        milliseconds(percentile(times, 0.99)),
        `≥ ${TARGET}: ${share >= TARGET ? 'met' : '**missed**'}`,
      ],
    ],
  );
}
