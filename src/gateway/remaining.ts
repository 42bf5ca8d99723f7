// The remainders of the limits of a key, as its holder may read them.

import type { KeyLimits, RemainingLimits } from '../core/principal.ts';
import { type Allowance, leftOfRequests, leftOfTokens } from './allowance.ts';

/** The part of the month's budget that is neither spent nor reserved. */
const leftOfBudget = ({ spent, reserved, elsewhere }: Allowance, budget: number): number =>
  Math.max(0, budget - spent - reserved.cost - elsewhere.cost);

/** The answer for a key without limits. */
export const UNTOUCHED: RemainingLimits = {
  requests_per_minute: null,
  tokens_per_minute: null,
  budget_per_month: null,
};

/** `at`: the time `nowMs` by the wall clock. */
export function remainingOf(
  allowance: Allowance,
  limits: KeyLimits,
  { nowMs, at }: { nowMs: number; at: Date },
): RemainingLimits {
  const { requests_per_minute: requests, tokens_per_minute: tokens, budget_per_month: budget } = limits;
  const ofMinute = (limit: number | undefined, leftOf: typeof leftOfTokens) => {
    if (limit === undefined) return null;
    const { remaining, resetMs } = leftOf(allowance, limit, nowMs);
    return { remaining, resets_at: new Date(at.getTime() + resetMs).toISOString() };
  };
  const [year, month] = [Math.floor(allowance.month / 100), allowance.month % 100];
  return {
    requests_per_minute: ofMinute(requests, leftOfRequests),
    tokens_per_minute: ofMinute(tokens, leftOfTokens),
    budget_per_month:
      budget === undefined
        ? null
        : {
            // Money is not a binary fraction.
            remaining: Math.round(leftOfBudget(allowance, budget) * 1e9) / 1e9,
            // The months of Date count from 0, so that this is the next one.
            resets_at: new Date(Date.UTC(year, month)).toISOString(),
          },
  };
}
