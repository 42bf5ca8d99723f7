// An application that sends usage events, one by one, in batches, and again; and a reader who follows them by cursor.

import { bodyOf } from '../../../acceptance/support/caller.ts';
import {
  createMetrics,
  eventOf,
  type MetricPage,
  type MetricRecord,
} from '../../../acceptance/support/metrics.ts';
import type { Client, Desk } from '../client.ts';

const nameOf = ({ source, event_id }: MetricRecord): string => `${source} ${event_id}`;

export async function createEventsClient(desk: Desk): Promise<Client> {
  const { random } = desk;
  const metrics = createMetrics(desk.call, { workspace: desk.workspace, key: desk.adminKey });
  const source = `sender-${random.below(1e9)}`;
  const acknowledged = new Set<string>();
  const sent = new Set<string>();
  /** Batches without an answer. */
  let open: Record<string, unknown>[][] = [];

  const send = async (events: Record<string, unknown>[]): Promise<void> => {
    const ids = events.map(({ id }) => String(id));
    for (const id of ids) sent.add(id);
    const answer = await desk.attempt([202], () =>
      events.length === 1 ? metrics.send(events[0]) : metrics.sendAll(events),
    );
    if (answer === undefined) open.push(events);
    else for (const id of ids) acknowledged.add(id);
  };
  let last: Record<string, unknown>[] = [];
  return {
    async work() {
      while (!desk.isOver()) {
        const count = random.chance(0.4) ? 1 : random.between({ from: 2, to: 12 });
        const fresh = Array.from({ length: count }, () =>
          eventOf({ source, type: `load.t${random.below(3)}`, subject: `p${random.below(4)}` }),
        );
        // Some repeat what was acknowledged already, some what was not.
        const again = random.chance(0.3) ? (open.shift() ?? last) : [];
        await send([...fresh, ...again]);
        last = fresh;
        await desk.pause();
      }
    },
    async settle() {
      const left = open;
      open = [];
      // For half of it the client never learns whether it was taken.
      for (const events of left) if (random.chance(0.5)) await send(events);
    },
    keep() {
      const kept = new Set(acknowledged);
      return () => {
        for (const id of acknowledged) if (!kept.has(id)) acknowledged.delete(id);
        open = [];
      };
    },
    async check({ events }) {
      const own = events.filter((event) => event.source === source).map(({ event_id }) => event_id);
      const found = new Set(own);
      const missing = [...acknowledged].filter((id) => !found.has(id));
      const foreign = own.filter((id) => !sent.has(id));
      return [
        ...(missing.length > 0
          ? [`an acknowledged event is stored: ${missing.length} of ${acknowledged.size} are missing`]
          : []),
        ...(found.size < own.length
          ? [`an event is stored once: ${own.length} rows of ${found.size} events`]
          : []),
        ...(foreign.length > 0 ? [`every stored event was sent: ${foreign[0]}`] : []),
      ];
    },
  };
}

/** Reads page after page, and at the end of the events the last page again: sees all of them, in one order. */
export async function createReaderClient(desk: Desk): Promise<Client> {
  const { random } = desk;
  const metrics = createMetrics(desk.call, { workspace: desk.workspace, key: desk.adminKey });
  const seen: MetricRecord[] = [];
  let cursor = '';
  let seenOfPage = 0;
  const size = random.between({ from: 5, to: 60 });

  const take = ({ items, next_page: next }: MetricPage): boolean => {
    const before = seen.slice(seen.length - seenOfPage).map(nameOf);
    if (!Bun.deepEquals(items.slice(0, seenOfPage).map(nameOf), before))
      desk.violate(
        'a reader by cursor misses nothing',
        `the page that held ${before} holds ${items.map(nameOf)}`,
      );
    const fresh = items.slice(seenOfPage);
    seen.push(...fresh);
    seenOfPage = next === null ? items.length : 0;
    if (next !== null) cursor = next;
    return fresh.length > 0 || next !== null;
  };
  return {
    async work() {
      while (!desk.isOver()) {
        const answer = await desk.attempt([200], () => metrics.get('by_created_at', { size, cursor }));
        if (answer !== undefined) take(JSON.parse(answer.text) as MetricPage);
        await desk.pause();
      }
    },
    settle: async () => undefined,
    keep() {
      const kept = { count: seen.length, cursor, seenOfPage };
      return () => {
        seen.length = kept.count;
        ({ cursor, seenOfPage } = kept);
      };
    },
    async check({ events }) {
      while (take(await metrics.page({ size, cursor }))) {}
      const { total } = await metrics.page({ size: 0, include_total: true });
      const problems = [];
      if (total !== seen.length)
        problems.push(`the total is the number of events: ${total}, not ${seen.length}`);
      const order = seen.map(({ created_at, id }) => `${created_at} ${id}`);
      if (!Bun.deepEquals(order, order.toSorted())) problems.push('events are in one order');
      const names = new Set(seen.map(nameOf));
      if (names.size < seen.length) problems.push('a reader by cursor sees no event twice');
      const missed = events.filter((event) => !names.has(nameOf(event)));
      if (missed.length > 0)
        problems.push(
          `a reader by cursor misses nothing: ${missed.length}, the first of ${missed[0]?.created_at}`,
        );
      return [...problems, ...(await compareSummaries(seen))];
    },
  };

  async function compareSummaries(all: readonly MetricRecord[]): Promise<string[]> {
    const problems: string[] = [];
    for (const group of ['type', 'subject', 'source'] as const) {
      const answer = await metrics.get('summary', { group_by: group });
      const { items } = bodyOf<{ items: { key: string; events: number }[] }>(answer, 200);
      const expected = [...Map.groupBy(all, (event) => event[group])].map(
        ([name, events]) => `${name} ${events.length}`,
      );
      const found = items.map(({ key, events }) => `${key} ${events}`);
      if (!Bun.deepEquals(found.toSorted(), expected.toSorted()))
        problems.push(`summaries count each event: by ${group} ${found}, not ${expected}`);
    }
    return problems;
  }
}
