// An event stays in the outbox until it is recorded.

import { expect, test } from 'bun:test';
import { createTell, type OutboxEvent } from '../../src/chat/events.ts';
import type { ServiceEvent } from '../../src/core/event.ts';

const eventOf = (id: number): OutboxEvent => ({
  ...{ id, event_id: `e${id}`, workspace_id: 'w', type: 'chat.create', subject: '' },
  ...{ data: { value: '1' }, created_at: '2026-11-21T10:00:00Z' },
});

test('what the disk does not take is not forgotten, and nobody is told that it was recorded', () => {
  const recorded: ServiceEvent[] = [];
  const forgotten: number[] = [];
  const tell = createTell({
    record: (event) => event.eventId !== 'e2' && recorded.push(event) > 0,
    recorded: { add: (id) => forgotten.push(id) > 0 },
  });
  expect(tell([eventOf(1), eventOf(2), eventOf(3)])).toEqual([1, 3]);
  expect(forgotten).toEqual([1, 3]);
  expect(recorded.map(({ eventId }) => eventId)).toEqual(['e1', 'e3']);
  expect(tell(null)).toEqual([]);
});
