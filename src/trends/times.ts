import type { Clock } from '../core/clock.ts';

export const DAY_MS = 86_400_000;
const DAYS_SHOWN = 30;

export const startOf = (time: Date, sizeMs: number): Date =>
  new Date(Math.floor(time.getTime() / sizeMs) * sizeMs);

/** Start of the first day, UTC, of which trends are kept and shown. */
export const firstDayShown = (clock: Clock): Date =>
  startOf(new Date(clock.now().getTime() - (DAYS_SHOWN - 1) * DAY_MS), DAY_MS);
