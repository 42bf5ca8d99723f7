// How many texts one call of a model has: about as many as it embeds in the time that a call should take.

import { CALLS_BELOW_FAILED, EMBEDDED_AT_FIRST, EMBEDDED_AT_ONCE, EMBEDDING_CALL_MS } from './limits.ts';

export type Pace = ReturnType<typeof createPace>;

/** `failed`: the number of texts of the last call that failed, until `answered` calls with fewer have been answered since. */
type State = { size: number; failed: number; answered: number };

/**
 * A slow model is given few texts at a time. With many it would not answer within the time-out of its upstream, however often it
 * is asked, and the questions of searches would wait behind a call at an upstream that does one after the other.
 */
export function createPace() {
  const states = new Map<string, State>();
  const stateOf = (model: string): State => {
    const state = states.get(model) ?? {
      size: EMBEDDED_AT_FIRST,
      failed: Number.POSITIVE_INFINITY,
      answered: 0,
    };
    states.set(model, state);
    return state;
  };
  return {
    sizeOf: (model: string): number => stateOf(model).size,

    /** A call with so many texts has taken so long. */
    took(model: string, texts: number, ms: number): void {
      const state = stateOf(model);
      state.answered += 1;
      if (state.answered >= CALLS_BELOW_FAILED) state.failed = Number.POSITIVE_INFINITY;
      const fitting = Math.floor((texts * EMBEDDING_CALL_MS) / Math.max(1, ms));
      state.size = Math.max(1, Math.min(fitting, 2 * state.size, state.failed - 1, EMBEDDED_AT_ONCE));
    },

    /** A call with so many texts has failed: they may be too many. An upstream may go on with them, so the next call has far fewer. */
    failed(model: string, texts: number): void {
      states.set(model, { size: Math.max(1, Math.floor(texts / 4)), failed: texts, answered: 0 });
    },
  };
}
