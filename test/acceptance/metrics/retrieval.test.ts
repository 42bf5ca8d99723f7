// Reading usage events in pages: complete, in order, and counted right, in both directions and while others write.

import { beforeAll, describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectStatus } from '../support/caller.ts';
import { createFreshMetrics, type Entry, eventOf, freshSource, type MetricPage } from '../support/metrics.ts';
import { startSetting } from '../support/setting.ts';

type Summary = { total: { events: number; value: number } };

const setting = await shared(startSetting());
const freshMetrics = createFreshMetrics(setting);

describe('retrieval', () => {
  let metrics: Awaited<ReturnType<typeof freshMetrics>>;
  const COUNT = 230;
  beforeAll(async () => {
    metrics = await freshMetrics();
    // In several batches, so that there are several times of storage.
    for (let start = 0; start < COUNT; start += 46) {
      const events = Array.from({ length: 46 }, (_, index) =>
        eventOf({ id: `e-${start + index}`, source: 'walk' }),
      );
      expectStatus(await metrics.sendAll(events), 202);
      await metrics.stored('walk', start + 46);
    }
  });

  const ids = (page: MetricPage): string[] => page.items.map(({ id }) => id);

  test('walks forwards and backwards over the same pages', async () => {
    const forwards: MetricPage[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: MetricPage = await metrics.page({ size: 50, cursor });
      forwards.push(page);
      cursor = page.next_page;
    }
    expect(forwards.map(({ items }) => items.length)).toEqual([50, 50, 50, 50, 30]);
    const everything = forwards.flatMap(({ items }) => items);
    const order = everything.map(({ created_at, id }) => `${created_at} ${id}`);
    expect(order).toEqual(order.toSorted());
    expect(new Set(order).size).toBe(COUNT);
    expect(forwards[0]?.previous_page).toBeNull();

    const last = forwards.at(-1) as MetricPage;
    const backwards: MetricPage[] = [];
    for (let cursor: string | null = last.current_page_backwards; cursor !== null; ) {
      const page: MetricPage = await metrics.page({ size: 50, cursor });
      backwards.unshift(page);
      cursor = page.previous_page;
    }
    expect(backwards.flatMap(ids)).toEqual(forwards.flatMap(ids));
    expect(backwards.at(-1)?.next_page).toBeNull();
    for (const [index, page] of forwards.entries()) {
      expect(ids(await metrics.page({ size: 50, cursor: page.current_page }))).toEqual(ids(page));
      expect(
        ids(await metrics.page({ size: page.items.length, cursor: page.current_page_backwards })),
      ).toEqual(ids(page));
      const before = forwards[index - 1];
      if (before === undefined) continue;
      const back = await metrics.page({ size: 50, cursor: page.previous_page ?? '' });
      expect(ids(back)).toEqual(ids(before));
      expect(ids(await metrics.page({ size: 50, cursor: back.next_page ?? '' }))).toEqual(ids(page));
    }
  });

  test('cuts windows exactly, and counts what is in them', async () => {
    const everything = await metrics.all();
    const times = [...new Set(everything.map(({ created_at }) => created_at))];
    expect(times.length).toBeGreaterThan(1);
    for (const from of times) {
      for (const to of times.filter((time) => time >= from)) {
        const window = { from_date: from.replace('T', ' '), to_date: to.replace('T', ' ') };
        const expected = everything.filter(({ created_at }) => created_at >= from && created_at <= to);
        const page = await metrics.page({ ...window, size: 100, include_total: true });
        expect(page.total).toBe(expected.length);
        expect(ids(page)).toEqual(expected.slice(0, 100).map(({ id }) => id));
        const summary = bodyOf<Summary>(await metrics.get('summary', window), 200);
        expect(summary.total).toEqual({ events: expected.length, value: expected.length });
      }
    }
    const [first = ''] = times;
    const justAfter = new Date(Date.parse(`${first}Z`) + 1).toISOString().slice(0, -1);
    const rest = everything.filter(({ created_at }) => created_at > first);
    expect((await metrics.page({ from_date: justAfter, include_total: true })).total).toBe(rest.length);
    expect((await metrics.page({ from_date: '2999-01-01 00:00:00.000', include_total: true })).total).toBe(0);
  });

  test('gives no items for size 0, a total only when asked, and null where nothing follows', async () => {
    const empty = await metrics.page({ size: 0, include_total: true });
    expect(empty).toMatchObject({ items: [], total: COUNT, previous_page: null });
    expect((await metrics.page({ size: 100 })).total).toBeNull();
    expect((await metrics.page()).items.length).toBe(50);
    const none = await metrics.everything.page({ to_date: '2000-01-01 00:00:00.000' });
    expect(none).toMatchObject({ items: [], next_page: null, previous_page: null });
  });

  test('refuses cursors that it has not given for this window', async () => {
    const { next_page: given = '' } = await metrics.page({ size: 10 });
    const other = await freshMetrics();
    const windowed = (await metrics.page({ size: 1, from_date: '2020-01-01 00:00:00.000' })).next_page ?? '';
    const flipped = `${given?.slice(0, 5)}${given?.[5] === 'A' ? 'B' : 'A'}${given?.slice(6)}`;
    for (const cursor of [
      flipped,
      given?.slice(0, -1) ?? '',
      `${given}A`,
      'Pg==',
      'x',
      '*',
      'A'.repeat(5000),
    ]) {
      const answer = await metrics.get('by_created_at', { cursor, size: 10 });
      expect(bodyOf<object>(answer, 400)).toEqual({ detail: 'Invalid cursor value' });
    }
    for (const answer of [
      await other.get('by_created_at', { cursor: given ?? '' }),
      await metrics.get('by_created_at', { cursor: windowed, size: 10 }),
    ])
      expect(bodyOf<{ detail: string }>(answer, 400).detail).toContain(
        'belongs to another workspace or window',
      );
  });

  test('a blank cursor is the first page', async () => {
    const first = await metrics.page({ size: 3 });
    for (const cursor of ['', ' ', '   ', '\t']) {
      expect((await metrics.page({ size: 3, cursor })).items).toEqual(first.items);
      expectStatus(await metrics.get('summary', { cursor }), 200);
    }
  });

  test('begins with the newest when asked to, and goes on to older ones', async () => {
    const everything = await metrics.all({ size: 100 });
    const read: string[] = [];
    let page = await metrics.page({ size: 100, newest: true });
    expect(page.next_page).toBeNull();
    for (;;) {
      read.unshift(...ids(page));
      if (page.previous_page === null) break;
      page = await metrics.page({ size: 100, cursor: page.previous_page });
    }
    expect(read).toEqual(everything.map(({ id }) => id));
    // A cursor says more than this does, and a window has an end of its own.
    const first = await metrics.page({ size: 3 });
    expect(ids(await metrics.page({ size: 3, cursor: first.current_page, newest: true }))).toEqual(
      ids(first),
    );
    const to = everything[49]?.created_at ?? '';
    const [inside] = (await metrics.page({ size: 1, to_date: to, newest: true })).items;
    expect(inside?.created_at).toBe(to);
  });

  test('takes bounds at the ends of time, and refuses those beyond', async () => {
    for (const [name, query] of [
      ['by_created_at', { include_total: true }],
      ['summary', {}],
    ] as const) {
      for (const to_date of ['9999-12-31 23:59:59.999', '9999-12-31T23:59:59.999Z'])
        expectStatus(
          await metrics.get(name, { ...query, from_date: '0001-01-01 00:00:00.000', to_date }),
          200,
        );
      expectStatus(await metrics.get(name, { ...query, to_date: '9999-12-31T23:59:59-05:00' }), 422);
      expectStatus(await metrics.get(name, { ...query, from_date: '0000-01-01T00:00:00+14:00' }), 422);
    }
    const { total } = await metrics.page({ to_date: '9999-12-31 23:59:59.999', include_total: true });
    expect(total).toBe(COUNT);
  });

  test('refuses other parameters that make no sense', async () => {
    const mistakes = async (query: Record<string, string>) =>
      bodyOf<{ detail: Entry[] }>(await metrics.get('by_created_at', query), 422).detail.map(
        ({ type, loc }) => `${type} ${loc.join('.')}`,
      );
    expect(await mistakes({ size: '101' })).toEqual(['less_than_equal query.size']);
    expect(await mistakes({ size: '-1' })).toEqual(['greater_than_equal query.size']);
    expect(await mistakes({ size: 'x' })).toEqual(['int_parsing query.size']);
    expect(await mistakes({ include_total: 'maybe' })).toEqual(['bool_parsing query.include_total']);
    expect(await mistakes({ from_date: 'yesterday' })).toEqual(['datetime_parsing query.from_date']);
    expect(await mistakes({ to_date: '2026-13-01 00:00:00.000' })).toEqual([
      'datetime_parsing query.to_date',
    ]);
    expect(
      await mistakes({ from_date: '2026-01-02 00:00:00.000', to_date: '2026-01-01 00:00:00.000' }),
    ).toEqual(['value_error query.to_date']);
  });

  test('walks forwards and backwards, while others write, meet whatever was there before, once and in order', async () => {
    const busy = await freshMetrics();
    const source = freshSource();
    const sendSome = async (): Promise<void> => {
      const events = Array.from({ length: 30 }, () => eventOf({ source }));
      expectStatus(await busy.sendAll(events), 202);
    };
    for (let round = 0; round < 20; round++) await sendSome();
    await busy.stored(source, 600);
    let writing = true;
    const writers = Array.from({ length: 3 }, async () => {
      while (writing) {
        await sendSome();
        await Bun.sleep(30);
      }
    });
    for (let walk = 0; walk < 3; walk++) {
      const there = (await busy.all()).map(({ id }) => id);
      const wanted = new Set(there);
      const walkFrom = async (start: string, direction: 'next_page' | 'previous_page') => {
        const seen: string[] = [];
        let met = 0;
        for (let cursor: string | null = start; cursor !== null; ) {
          const page: MetricPage = await busy.page({ size: 37, cursor });
          if (direction === 'next_page') seen.push(...ids(page));
          else seen.unshift(...ids(page));
          // What comes meanwhile has no end.
          met += ids(page).filter((id) => wanted.has(id)).length;
          cursor = met >= wanted.size ? null : page[direction];
        }
        return seen;
      };
      // From behind the last page; what is written from now on is not part of the walk.
      let last = await busy.page({ size: 100 });
      while (last.next_page !== null) last = await busy.page({ size: 100, cursor: last.next_page });
      const forwards = await walkFrom('', 'next_page');
      const backwards = await walkFrom(last.current_page_backwards, 'previous_page');
      for (const seen of [forwards, backwards]) {
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => wanted.has(id))).toEqual(there);
      }
    }
    writing = false;
    await Promise.all(writers);
  });

  test('a reader at the tail meets every event once, while others write', async () => {
    const source = freshSource();
    const busy = await freshMetrics();
    let writing = true;
    let sent = 0;
    const writers = Array.from({ length: 6 }, async () => {
      while (sent < 3000) {
        const events = Array.from({ length: 25 }, () => eventOf({ source }));
        sent += events.length;
        expectStatus(await busy.sendAll(events), 202);
      }
    });
    // It goes on from the last full page; a page that is not full yet is read again.
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for (let cursor = ''; ; ) {
        const last = !writing;
        const page = await busy.page({ size: 100, cursor });
        if (page.next_page !== null) {
          seen.push(...ids(page));
          cursor = page.next_page;
        } else if (last && page.items.length > 0 && seen.length + page.items.length >= sent) {
          seen.push(...ids(page));
          return;
        }
      }
    };
    const reader = read();
    await Promise.all(writers);
    writing = false;
    await reader;
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBe(sent);
    expect(seen).toEqual((await busy.all()).map(({ id }) => id));
  });
});
