// Every fault of an upstream, and what its caller sees: `faults/expected.ts` says, the page in docs/ shows.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { startGateway } from '../support/gateway.ts';
import { machineNow } from '../support/machine-time.ts';
import type { Account } from '../support/mock-upstream/ledger.ts';
import { once } from '../support/once.ts';
import { shared } from '../support/shared.ts';
import { AFTERMATH_MS, now, outcomeOf, send } from './faults/ask.ts';
import { CELLS, type Cell, modelsFile, rescueOf } from './faults/cells.ts';

/** How soon after its caller a request is gone, on an idle machine. */
const CANCELLED_MS_MAX = 100;

/** A caller who stays waits longer than any time-out of the gateway. */
const PATIENCE_MS = 120_000;

const gateway = await shared(startGateway(modelsFile));

/** Runs the cells, some at a time, and keeps what each gave. */
function runAll<Result>(cells: readonly Cell[], width: number, run: (cell: Cell) => Promise<Result>) {
  const results = new Map<Cell, Result | Error>();
  const left = [...cells];
  const worker = async (): Promise<void> => {
    for (let cell = left.shift(); cell !== undefined; cell = left.shift())
      results.set(
        cell,
        await run(cell).catch((cause: unknown) => new Error(`${cell.name}: ${cause}`, { cause })),
      );
  };
  return Promise.all(Array.from({ length: width }, worker)).then(() => results);
}

describe('a caller who stays', () => {
  const cells = CELLS.filter(({ leaves }) => !leaves);
  const run = async (cell: Cell) => {
    const { url, key, mock } = gateway;
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await send({ url, key, model: cell.name, stream: cell.way === 'streamed', signal });
    const outcome = await outcomeOf(response, cell, gateway);
    const { requests: asked } = await mock.state(cell.name);
    const { requests: rescued } = await mock.state(rescueOf(cell));
    return { outcome, asked, rescued };
  };
  const results = once(() => runAll(cells, 12, run));

  for (const cell of cells) {
    test(cell.name, async () => {
      const { row, way, backed } = cell;
      const outcome = backed ? row.backed[way] : row.alone[way];
      const rescued = outcome === 'fallback';
      const result = (await results()).get(cell);
      if (result instanceof Error) throw result;
      expect(result).toEqual({
        outcome: rescued ? 'answer' : String(outcome),
        asked: row.asked[way],
        rescued: rescued ? 1 : 0,
      });
    });
  }
});

/** How much longer the way through the gateway may take, on a slow machine, than the straight one. */
const TIMES_STRAIGHT = 20;

/** How long the upstream takes now to see that a caller of its own has left. */
async function cancelStraight(): Promise<number> {
  const { mock } = gateway;
  const name = `hang+key=${crypto.randomUUID()}`;
  const controller = new AbortController();
  const { signal } = controller;
  const sent = send({ url: mock.url, key: 'any', model: name, stream: false, signal }).catch(() => undefined);
  const key = name.slice('hang+key='.length);
  await eventually('the control to run', async () => (await mock.state(key)).running === 1);
  const leftAt = now();
  controller.abort();
  await sent;
  const { at } = await eventually('the control to end', async () => (await mock.state(key)).cancelled[0]);
  return at - leftAt;
}

/** Controls, for where the machine stood still for the callers of the gateway, and not for that of the first control. */
const CONTROLS = 3;

/**
 * Returns, when it is over, the time in which those who left `key` are to be gone: on this machine, at this moment. A crowded
 * machine gives the processes between the caller and the upstream that much less of the time.
 */
async function waitForCancelling(key: string, leftAt: number): Promise<number> {
  const began = { at: now(), machineAt: machineNow() };
  let allowedMs = 0;
  for (let control = 0; control < CONTROLS; control++) {
    const straightMs = await cancelStraight();
    const crowding = Math.max(1, (now() - began.at) / (machineNow() - began.machineAt));
    allowedMs = Math.max(allowedMs, (CANCELLED_MS_MAX + TIMES_STRAIGHT * straightMs) * crowding);
    await Bun.sleep(Math.max(0, leftAt + allowedMs - now()));
    const { running, cancelled } = await gateway.mock.state(key);
    if (running === 0 && cancelled.every(({ at }) => at - leftAt <= allowedMs)) break;
  }
  return allowedMs;
}

describe('a caller who leaves', () => {
  // Where nobody can be asked there is nothing to leave.
  const cells = CELLS.filter(({ leaves, row }) => leaves && row.fault !== 'refused');
  type Left = {
    stillRuns: number;
    cancelled: number;
    latestMs: number;
    allowedMs: number;
    askedAfter: number;
  };
  /** Leaves when the upstream has the request, or, where that begins to answer, when something has come. */
  const leave = async (cell: Cell): Promise<number> => {
    const { url, key, mock } = gateway;
    const controller = new AbortController();
    const { signal } = controller;
    const stream = cell.way === 'streamed';
    const sent = send({ url, key, model: cell.name, stream, signal });
    if (stream && ['hang-mid', 'trickle+ms=300'].includes(cell.row.fault)) {
      const reader = (await sent).body?.getReader();
      await reader?.read();
      const leftAt = now();
      controller.abort();
      await reader?.closed.catch(() => undefined);
      return leftAt;
    }
    const settled = sent.then((response) => response.text()).catch(() => undefined);
    await eventually('the request to arrive', async () => (await mock.state(cell.name)).requests > 0);
    const leftAt = now();
    controller.abort();
    await settled;
    return leftAt;
  };
  const run = async (cell: Cell) => {
    const leftAt = await leave(cell);
    const allowedMs = await waitForCancelling(cell.name, leftAt);
    const { running, requests } = await gateway.mock.state(cell.name);
    return { leftAt, allowedMs, running, requests };
  };
  const look = async (
    cell: Cell,
    { leftAt, allowedMs, running, requests }: Awaited<ReturnType<typeof run>>,
  ) => {
    const later = await gateway.mock.state(cell.name);
    const rescue = await gateway.mock.state(rescueOf(cell));
    const askedLate = rescue.arrivals.filter((at) => at > leftAt + allowedMs).length;
    return {
      stillRuns: running,
      allowedMs,
      cancelled: later.cancelled.length,
      latestMs: Math.max(0, ...later.cancelled.map(({ at }) => at - leftAt)),
      askedAfter: later.requests - requests + askedLate,
    };
  };
  const results = once(async () => {
    const looked = new Map<Cell, Left | Error>();
    const left = await runAll(cells, 8, run);
    await Bun.sleep(AFTERMATH_MS);
    for (const [cell, result] of left)
      looked.set(cell, result instanceof Error ? result : await look(cell, result));
    return looked;
  });

  for (const cell of cells) {
    test(cell.name, async () => {
      const result = (await results()).get(cell);
      if (result === undefined) throw new Error('the cell was not run');
      if (result instanceof Error) throw result;
      const { latestMs, allowedMs, cancelled, ...rest } = result;
      expect(rest).toEqual({ stillRuns: 0, askedAfter: 0 });
      expect(latestMs).toBeLessThanOrEqual(allowedMs);
      if (cell.row.running[cell.way]) expect(cancelled).toBe(1);
    });
  }
});

describe('of many who leave at once', () => {
  const MANY = 100;
  const TRIES = 4;
  for (const [phase, fault] of [
    ['before-headers', 'hang'],
    ['mid-answer', 'hang-mid'],
  ] as const) {
    const leaveAtOnce = async (): Promise<Account & { latestMs: number; allowedMs: number }> => {
      const { url, key, mock } = gateway;
      const name = `${fault}/streamed/alone/stays`;
      await mock.reset(name);
      const controller = new AbortController();
      let begun = 0;
      const leavers = Array.from({ length: MANY }, async () => {
        const response = await send({ url, key, model: name, stream: true, signal: controller.signal });
        begun += 1;
        await response.text();
      });
      await eventually('all to run', async () => (await mock.state(name)).running === MANY);
      if (phase === 'mid-answer') await eventually('all answers to begin', () => begun === MANY);
      const leftAt = now();
      controller.abort();
      await Promise.allSettled(leavers);
      const allowedMs = await waitForCancelling(name, leftAt);
      await eventually('all to be gone', async () => (await mock.state(name)).running === 0);
      const account = await mock.state(name);
      return { ...account, latestMs: Math.max(...account.cancelled.map(({ at }) => at - leftAt)), allowedMs };
    };
    test(`all are cancelled within ${CANCELLED_MS_MAX} ms: ${phase}`, async () => {
      // A busy machine may give another process the time; in one of a few tries it does not.
      for (let left = TRIES; left > 0; left--) {
        const { cancelled, latestMs, allowedMs } = await leaveAtOnce();
        expect(cancelled).toHaveLength(MANY);
        expect(new Set(cancelled.map((each) => each.phase))).toEqual(new Set([phase]));
        if (latestMs <= allowedMs) return;
        if (left === 1) expect(latestMs).toBeLessThanOrEqual(allowedMs);
      }
    });
  }
});
