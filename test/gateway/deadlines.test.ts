// Time-outs without a timer each: never early, at most a tick late, and nothing left behind.

import { expect, test } from 'bun:test';
import { createDeadlines } from '../../src/core/deadlines.ts';
import { eventually } from '../support/child.ts';

test('what is set comes once, in time; what is moved or dropped does not come at its first time', async () => {
  let now = 0;
  const deadlines = createDeadlines(() => now);
  const due: string[] = [];
  const create = (name: string) => deadlines.create(() => due.push(name));
  create('plain').set(60);
  create('dropped').set(30);
  const moved = create('moved');
  moved.set(30);
  moved.set(150);
  const dropped = create('never');
  dropped.set(40);
  dropped.drop();
  for (const [dueAt, name] of [
    [30, 'dropped'],
    [60, 'plain'],
    [150, 'moved'],
  ] as const) {
    const before = due.length;
    now = dueAt - 1;
    // Two ticks, in which nothing is due.
    await Bun.sleep(60);
    expect(due).toHaveLength(before);
    now = dueAt;
    await eventually(name, () => due.length > before);
    expect(due.at(-1)).toBe(name);
  }
  expect(deadlines.size()).toBe(0);
});

test('one that is set again by its own coming comes again', async () => {
  const deadlines = createDeadlines();
  let times = 0;
  const again = deadlines.create(() => {
    times += 1;
    if (times < 3) again.set(10);
  });
  again.set(10);
  await eventually('three times', () => times === 3);
  expect(deadlines.size()).toBe(0);
});

test('ten thousand that come and go leave nothing', () => {
  const deadlines = createDeadlines();
  for (let index = 0; index < 10_000; index++) {
    const deadline = deadlines.create(() => undefined);
    deadline.set(60_000);
    deadline.set(30_000);
    deadline.drop();
  }
  expect(deadlines.size()).toBe(0);
});
