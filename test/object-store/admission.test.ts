// Which connections and requests give way: a store that is full stays usable.

import { expect, test } from 'bun:test';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { createAdmission } from '../../src/embedded/object-store/admission.ts';
import { limits } from '../../src/embedded/object-store/limits.ts';

const socket = () => {
  const made = Object.assign(new EventEmitter(), { destroyed: false });
  return Object.assign(made, {
    destroy() {
      made.destroyed = true;
    },
  }) as unknown as Socket;
};

test('where all permits for grants are taken, the request that has hardly moved for longest gives way', () => {
  let nowMs = 0;
  const admission = createAdmission(() => nowMs);
  const begin = () => {
    const own = socket();
    const permit = admission.begin(own);
    permit.admit('grant');
    return { ...permit, isCut: () => own.destroyed };
  };
  const running = Array.from({ length: limits.requestsMax }, begin);
  const [moving, dripping, stalled] = running as [
    (typeof running)[0],
    (typeof running)[0],
    (typeof running)[0],
  ];
  nowMs = limits.stepMsMax - 1;
  expect(begin).toThrow('reduce your request rate');
  moving.moved(limits.stepBytes / 2);
  moving.moved(limits.stepBytes / 2);
  dripping.moved(limits.stepBytes - 1);
  nowMs += 1;
  begin();
  expect([moving.isCut(), dripping.isCut(), stalled.isCut()]).toEqual([false, true, false]);
  // What it still moves, and its end, do not give it a permit again.
  dripping.moved(limits.stepBytes);
  dripping.done();
  begin();
  expect([moving.isCut(), stalled.isCut()]).toEqual([false, true]);
  for (const { done } of running.slice(3)) done();
  begin();
  expect(moving.isCut()).toBe(false);
  const service = admission.begin(socket());
  service.admit('service');
  service.done();
});
