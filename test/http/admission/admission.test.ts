// What the parts of admission do together: exempt operations have no door, a full memory lets nothing in, a long overload is told.

import { expect, test } from 'bun:test';
import { createInterruption } from '../../../src/core/interruption.ts';
import { createAdmission, createRunningClock, Overloaded } from '../../../src/http/admission/admission.ts';
import type { MemoryLevel } from '../../../src/http/admission/memory-guard.ts';
import { capacityState, createRefusals } from '../../../src/http/admission/refusals.ts';
import { workOf } from '../../../src/http/admission/work.ts';

const ignore = (): void => undefined;
const LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const NOBODY = { workspaceId: '', keyId: '' };

function admissionWith(level: MemoryLevel = 'fine', permits = 2, burstMs = 20) {
  const { onInterrupt, interrupt } = createInterruption();
  const memory = { bytesMax: 1, level: () => level };
  const delay = { burstMs, overloadMs: 10, standingMs: 1000, shortLine: 0 };
  const bounds = { read: permits, model: permits };
  const admission = createAdmission({ memory, log: LOG, onInterrupt, permits: bounds, delay });
  const door = (method: 'GET' | 'POST', work?: 'model') => {
    const made = admission.door({ work: workOf({ work, area: 'test', method }) });
    if (made === undefined) throw new Error('it has no door');
    return made;
  };
  return { admission, door, interrupt };
}

test('an operation is of the class that it states, else that of its area and its method', () => {
  expect(workOf({ area: 'health', method: 'GET' })).toBe('exempt');
  expect(workOf({ area: 'documents', method: 'GET' })).toBe('read');
  expect(workOf({ area: 'documents', method: 'DELETE' })).toBe('write');
  expect(workOf({ area: 'documents', method: 'GET', work: 'heavy' })).toBe('heavy');
});

test('a request that waits has the next permit, or is refused when it has waited too long', async () => {
  // A permit that is free reaches its request within a second on a busy machine, too.
  const { admission, door } = admissionWith('fine', 2, 1000);
  const read = door('GET');
  // On a busy machine also the first ones may wait for the next round of the event loop.
  const first = await read.enter(NOBODY);
  const second = await read.enter({ workspaceId: 'other', keyId: '' });
  const waiting = read.enter(NOBODY);
  read.release(first);
  expect(await waiting).toBeDefined();
  expect(read.enter({ workspaceId: 'third', keyId: '' })).rejects.toThrow(Overloaded);
  await Promise.resolve(read.enter(NOBODY)).catch((error: Overloaded) => {
    expect([error.kind, error.retryAfterSeconds]).toEqual(['unavailable', 2]);
  });
  expect(admission.refusals.counts()).toEqual([{ work: 'read', reason: 'late', count: 2 }]);
  read.release(second);
  expect(admission.state()).toContainEqual(expect.objectContaining({ work: 'read', running: 1, waiting: 0 }));
});

test('one workspace never has all permits of a class', async () => {
  // The last one is refused only after the other workspace has its permit, also on a busy machine.
  const { admission, door } = admissionWith('fine', 8, 1000);
  const read = door('GET');
  const asked = Array.from({ length: 8 }, () => Promise.resolve(read.enter(NOBODY)));
  await Promise.all(asked.slice(0, 7));
  expect(admission.state()).toContainEqual(expect.objectContaining({ work: 'read', running: 7, waiting: 1 }));
  const other = read.enter({ workspaceId: 'other', keyId: '' });
  expect(await other).toBeDefined();
  expect(asked[7]).rejects.toThrow(Overloaded);
  await Promise.allSettled(asked);
  expect(admission.state()).toContainEqual(expect.objectContaining({ work: 'read', running: 8, waiting: 0 }));
});

test('a process that was stopped has not been overloaded', () => {
  let nowMs = 0;
  const clock = createRunningClock(() => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return clock();
  };
  expect([at(50), at(120), at(30_120), at(30_160)]).toEqual([50, 120, 220, 260]);
});

test('at the end of a shutdown nothing waits, and that is no overload', async () => {
  const { admission, door, interrupt } = admissionWith();
  const read = door('GET');
  for (const workspaceId of ['one', 'two']) void read.enter({ workspaceId, keyId: '' });
  const waiting = read.enter(NOBODY);
  interrupt();
  expect(waiting).rejects.toThrow('shutting down');
  await Promise.resolve(waiting).catch(ignore);
  expect(admission.refusals.counts()).toEqual([]);
});

test('a tight memory refuses models and searches, a full one everything', () => {
  const tight = admissionWith('tight');
  expect(tight.door('GET').enter(NOBODY)).toBeDefined();
  expect(() => tight.door('POST', 'model').enter(NOBODY)).toThrow('memory');
  const full = admissionWith('full');
  expect(() => full.door('GET').enter(NOBODY)).toThrow('memory');
  expect(full.admission.refusals.counts()).toEqual([{ work: 'read', reason: 'memory', count: 1 }]);
  const states = [admissionWith(), tight, full].map(({ admission }) => capacityState(admission).state);
  expect(states).toEqual(['ready', 'degraded', 'down']);
});

test('an overload is told once it has lasted for ten seconds, and until ten seconds after it', () => {
  let nowMs = 0;
  const warnings: unknown[] = [];
  const refusals = createRefusals({ ...LOG, warn: (fields) => void warnings.push(fields) }, () => nowMs);
  const stateAt = (at: number, refused = false) => {
    nowMs = at;
    if (refused) refusals.add('read', 'late');
    return capacityState({ refusals, memory: undefined }).state;
  };
  expect([stateAt(0, true), stateAt(9_000, true), stateAt(9_900)]).toEqual(['ready', 'ready', 'ready']);
  expect([stateAt(12_000, true), stateAt(21_000)]).toEqual(['degraded', 'degraded']);
  expect([stateAt(22_001), stateAt(40_000, true)]).toEqual(['ready', 'ready']);
  expect(warnings).toHaveLength(2);
});
