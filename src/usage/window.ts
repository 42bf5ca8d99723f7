import { valueError } from '../core/errors.ts';

/** Throws ValidationFailure for a window that ends before it begins. */
export function refuseReversed(from: number | undefined, to: number | undefined): void {
  if (from === undefined || to === undefined || from <= to) return;
  throw valueError(['query', 'to_date'], 'to_date is before from_date', new Date(to).toISOString());
}
