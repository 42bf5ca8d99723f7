import { valueError } from '../core/errors.ts';

/** A bound as it was sent, and its milliseconds since 1970. */
export type Bound = { text: string; ms: number };

/** Throws ValidationFailure for a window that ends before it begins. */
export function refuseReversed(from: Bound | undefined, to: Bound | undefined): void {
  if (from === undefined || to === undefined || from.ms <= to.ms) return;
  throw valueError(['query', 'to_date'], 'to_date is before from_date', to.text);
}
