import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ValidationFailure } from '../../src/core/errors.ts';
import { parseCursor, renderCursor, toPage, toPageRequest } from '../../src/http/paging.ts';

const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
const row = fc.record({
  createdAt: time.map((ms) => new Date(ms)),
  id: fc.string({ minLength: 1, unit: 'grapheme' }),
});

test('a cursor gives back the position it was made of, and fits into a URL as it is', () => {
  fc.assert(
    fc.property(row, (position) => {
      const cursor = renderCursor(position);
      expect(parseCursor(cursor)).toEqual(position);
      expect(encodeURIComponent(cursor)).toBe(cursor);
    }),
  );
});

test('whatever is read as a cursor is one that was rendered', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => Buffer.from(text).toString('base64url')),
      ),
      (text) => {
        const position = parseCursor(text);
        if (position !== undefined) expect(renderCursor(position)).toBe(text);
      },
    ),
  );
});

test.each([
  '!',
  'MTI',
  Buffer.from('253402300800000:a').toString('base64url'),
  `${renderCursor({ createdAt: new Date(0), id: 'a' })}=`,
])('the cursor %s is a mistake in the query', (cursor) => {
  try {
    toPageRequest({ cursor }, () => true);
    throw new Error('accepted');
  } catch (error) {
    if (!(error instanceof ValidationFailure)) throw error;
    expect(error.entries).toMatchObject([{ type: 'value_error', loc: ['query', 'cursor'], input: cursor }]);
  }
});

test('a cursor whose id no row can have is a mistake; a blank one means the first page', () => {
  const cursor = renderCursor({ createdAt: new Date(0), id: 'a' });
  expect(() => toPageRequest({ cursor }, () => false)).toThrow(ValidationFailure);
  expect(toPageRequest({ cursor: '', limit: 3 }, () => false)).toEqual({ limit: 3, after: undefined });
  expect(toPageRequest({}, () => false)).toEqual({ limit: 50, after: undefined });
});

test('a page has a next one only when rows are left', () => {
  const rows = ['c', 'b', 'a'].map((id, index) => ({ id, createdAt: new Date(1000 - index) }));
  const render = (each: { id: string }) => each.id;
  expect(toPage(rows, 3, render)).toEqual({ items: ['c', 'b', 'a'], next_cursor: null });
  const page = toPage(rows, 2, render);
  expect(page.items).toEqual(['c', 'b']);
  expect(parseCursor(page.next_cursor ?? '')).toEqual({ id: 'b', createdAt: new Date(999) });
  expect(toPage([], 2, render)).toEqual({ items: [], next_cursor: null });
});
