// What several processes say of the services behind them, as one.

import { describe, expect, test } from 'bun:test';
import {
  type Checked,
  joinChecks,
  type ReadinessCheck,
  type ServiceState,
} from '../../src/http/readiness.ts';

const READY: ServiceState = { state: 'ready' };

/** The service `name` as the processes 1, 2, … see it, asked of each of them; they have to agree. */
function joined(states: readonly (ServiceState | undefined)[], across?: ReadinessCheck['across']) {
  const check = { name: 'store', essential: false, check: async () => READY, ...(across && { across }) };
  const seenBy = (state: ServiceState): Checked[] => [{ name: 'store', essential: false, state }];
  const parts = states.map((state, index) => ({
    process: index + 1,
    ...(state && { answer: seenBy(state) }),
  }));
  const answers = states.flatMap((state) =>
    state === undefined ? [] : [joinChecks([check], { own: seenBy(state), parts })],
  );
  const [first] = answers;
  for (const each of answers) expect(each).toEqual(first as Checked[]);
  return Object.fromEntries((first ?? []).map(({ name, state }) => [name, state]));
}

describe('figures of several processes', () => {
  test('are summed where each process has its part', () => {
    const states = [2, 5, 4].map((threads): ServiceState => ({ state: 'ready', threads }));
    expect(joined(states, { threads: 'sum' })['store']).toEqual({ state: 'ready', threads: 11 });
  });

  test('are the worst one where one process is enough', () => {
    const states: ServiceState[] = [
      { state: 'ready', waiting: 0, synced: true },
      { state: 'ready', waiting: 7, synced: false },
    ];
    expect(joined(states, { waiting: 'largest', synced: 'every' })['store']).toEqual({
      state: 'ready',
      waiting: 7,
      synced: false,
    });
  });

  test('are taken once where all read the same', () => {
    const kinds = { purge: { waiting: 3 } };
    const states: ServiceState[] = [
      { state: 'down', detail: 'no answer in time' },
      { state: 'ready', kinds },
    ];
    expect(joined(states)['store']).toEqual({
      state: 'degraded',
      detail: 'in process 1 of 2: no answer in time',
      kinds,
    });
  });

  test('are those of the processes that have one', () => {
    const states: ServiceState[] = [{ state: 'ready', waiting: 3 }, READY];
    expect(joined(states, { waiting: 'sum' })['store']).toEqual({ state: 'ready', waiting: 3 });
  });
});

describe('the state of a service', () => {
  const down: ServiceState = { state: 'down', detail: 'it cannot be reached' };
  const tight: ServiceState = { state: 'degraded', detail: 'it is close to its limit' };

  test('is ready where it is for every process', () => {
    expect(joined([READY, READY])).toEqual({ store: READY, processes: { state: 'ready', serving: 2 } });
  });

  test('is down where it is for every process', () => {
    expect(joined([down, down])['store']).toEqual(down);
  });

  test('is degraded where it is down for some, whichever of them is asked', () => {
    expect(joined([READY, down, down])['store']).toEqual({
      state: 'degraded',
      detail: 'in process 2, 3 of 3: it cannot be reached',
    });
    expect(joined([down, tight])['store']).toEqual({
      state: 'degraded',
      detail: 'in process 1 of 2: it cannot be reached; in process 2 of 2: it is close to its limit',
    });
  });

  test('is that of the others while one does not answer, which is reported', () => {
    expect(joined([READY, undefined, down])).toEqual({
      store: { state: 'degraded', detail: 'in process 3 of 3: it cannot be reached' },
      processes: { state: 'degraded', detail: 'no answer from process 2', serving: 2 },
    });
  });

  test('is what the asked process sees while their owner does not answer', () => {
    const check = { name: 'store', essential: false, check: async () => tight };
    const own = [{ name: 'store', essential: false, state: tight }];
    expect(joinChecks([check], { own, parts: undefined }).map(({ state }) => state)).toEqual([
      tight,
      { state: 'degraded', detail: 'their owner does not answer' },
    ]);
  });
});
