// Settings that are sizes and times: a bare number is in the unit of the setting's name, and `5GB`, `1GiB`, `30s`, `7d` are understood.

import type { Kind } from './settings-reader.ts';

const MAGNITUDES = 'kmgt';
const SIZE = /^(\d{1,15}(?:\.\d{1,6})?) ?(?:([kmgt])(i)?)?(b)?$/i;

const MILLISECONDS = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
} as const;
const NAMES = { milliseconds: 'ms', seconds: 's', hours: 'h', days: 'd' } as const;
const TIME = /^(\d{1,15}(?:\.\d{1,6})?) ?(ms|s|min|m|h|d|w)?$/;

/** Bytes: `k`, `M`, `G`, `T` are powers of 1000, `Ki`, `Mi`, `Gi`, `Ti` powers of 1024, with or without a `B`. */
export const bytes = (minimum: number, maximum: number): Kind<number> => ({
  allowed: `an integer from ${minimum} to ${maximum}, or a size such as 5GB or 1GiB`,
  parse(text) {
    const [, number = '', letter, binary] = SIZE.exec(text) ?? [];
    const power = letter === undefined ? 0 : MAGNITUDES.indexOf(letter.toLowerCase()) + 1;
    return within(Number(number || Number.NaN) * (binary === undefined ? 1000 : 1024) ** power, {
      minimum,
      maximum,
    });
  },
});

/** A time in whole units: `duration('days', 0, 30)` understands `7`, `7d` and `1w`. */
export const duration = (unit: keyof typeof NAMES, minimum: number, maximum: number): Kind<number> => ({
  allowed: `an integer from ${minimum} to ${maximum} (${unit}), or a time such as 500ms, 30s, 5m, 12h or 7d in whole ${unit}`,
  parse(text) {
    const [, number = '', suffix = NAMES[unit]] = TIME.exec(text) ?? [];
    const ms = Number(number || Number.NaN) * MILLISECONDS[suffix as keyof typeof MILLISECONDS];
    return within(ms / MILLISECONDS[NAMES[unit]], { minimum, maximum });
  },
});

function within(value: number, { minimum, maximum }: { minimum: number; maximum: number }) {
  return Number.isSafeInteger(value) && value >= minimum && value <= maximum ? value : undefined;
}
