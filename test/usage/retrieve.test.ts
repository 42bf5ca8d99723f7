// A page that reaches the end of the events is read when what was being stored is there: nobody asks for it again.

import { expect, test } from 'bun:test';
import { TAIL_MS } from '../../src/usage/limits.ts';
import { EventPages } from '../../src/usage/operations/retrieve.ts';
import type { StoredEvent } from '../../src/usage/store/reader.ts';

const NOW_MS = Date.UTC(2026, 10, 22, 12);

const eventAt = (second: number): StoredEvent => ({
  id: `019c13a5-6d2b-7c4e-8f1a-00000000000${second}`,
  created_at: `2026-11-22 11:59:0${second}.000`,
  event_id: `${second}`,
  source: 's',
  type: 't',
  subject: '',
  time: '',
  data: '{}',
  extensions: null,
});

/** Of three events the last one is committed when whoever waits for it is told: fakes, to hold that moment. */
function setting() {
  const stored = [eventAt(1), eventAt(2)];
  const order: string[] = [];
  const committed = Promise.withResolvers<void>();
  const pages = new EventPages({
    reader: {
      async page(_window, { backwards }, size) {
        order.push('read');
        return backwards ? stored.slice(-(size + 1)) : stored.slice(0, size + 1);
      },
      total: async () => 0,
      cursorSecret: async () => Buffer.from('secret'),
    },
    barrier: {
      async wait() {
        order.push('wait');
        await committed.promise;
        order.push('stored');
      },
    },
    clock: { now: () => new Date(NOW_MS) },
    retentionDays: 0,
  });
  const retrieve = pages.read.bind(pages);
  const commit = (): void => {
    stored.push(eventAt(3));
    committed.resolve();
  };
  return { retrieve, order, commit };
}

const idsOf = (events: readonly StoredEvent[]): string[] => events.map(({ event_id }) => event_id);
const OPEN = { from: undefined, to: undefined, includeTotal: false };

test('forwards: the end of the window is read again once what was being stored is there', async () => {
  const { retrieve, order, commit } = setting();
  const page = retrieve('acme', { ...OPEN, size: 5 });
  while (!order.includes('wait')) await Promise.resolve();
  commit();
  expect(idsOf((await page).events)).toEqual(['1', '2', '3']);
  expect(order).toEqual(['read', 'wait', 'stored', 'read']);
});

test('backwards from the end: nothing is read before', async () => {
  const { retrieve, order, commit } = setting();
  commit();
  const { currentPageBackwards } = await retrieve('acme', { ...OPEN, size: 5 });
  const again = setting();
  const page = again.retrieve('acme', { ...OPEN, size: 5, cursor: currentPageBackwards });
  while (!again.order.includes('wait')) await Promise.resolve();
  again.commit();
  expect(idsOf((await page).events)).toEqual(['1', '2', '3']);
  expect(again.order).toEqual(['wait', 'stored', 'read']);
  expect(order.at(-1)).toBe('read');
});

test('a page before the end, and a window that is long over, wait for nothing', async () => {
  const { retrieve, order } = setting();
  expect(idsOf((await retrieve('acme', { ...OPEN, size: 1 })).events)).toEqual(['1']);
  await retrieve('acme', { ...OPEN, to: NOW_MS - TAIL_MS - 1, size: 5 });
  expect(order).toEqual(['read', 'read']);
});
