import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { startAdministration } from './administration.ts';

const administration = await shared(startAdministration());

async function lastUseOf(id: string): Promise<Date | null | undefined> {
  const [row] = await administration.sql<
    { at: Date | null }[]
  >`SELECT last_used_at AS at FROM keys WHERE id = ${id}`;
  return row?.at;
}

const use = async (text: string, instance = administration.first): Promise<void> => {
  await instance.access.authenticators.key(text);
};

test('the use of a key is written after the request, at most once a minute', async () => {
  const { makeKey, first } = administration;
  const made = await makeKey(['chat']);
  expect(await lastUseOf(made.id)).toBeNull();
  const before = first.clock.now();
  for (let count = 0; count < 100; count++) await use(made.key);
  await first.lifecycle.settle();
  const written = await lastUseOf(made.id);
  expect(written?.getTime()).toBeGreaterThanOrEqual(before.getTime());

  first.clock.advance(30_000);
  await use(made.key);
  await first.lifecycle.settle();
  expect(await lastUseOf(made.id)).toEqual(written);

  first.clock.advance(30_001);
  await use(made.key);
  await first.lifecycle.settle();
  expect((await lastUseOf(made.id))?.getTime()).toBeGreaterThanOrEqual((written?.getTime() ?? 0) + 60_000);
});

test('what another process has written within the minute is left as it is', async () => {
  const made = await administration.makeKey(['chat']);
  const { first } = administration;
  const other = await administration.start();
  // That of the first is ahead by what the test above advanced it.
  other.clock.advance(first.clock.now().getTime() - other.clock.now().getTime());
  await use(made.key);
  await use(made.key, other);
  await other.lifecycle.settle();
  const written = await lastUseOf(made.id);
  expect(written).toBeInstanceOf(Date);
  await first.lifecycle.settle();
  expect(await lastUseOf(made.id)).toEqual(written);
});

test('what is not written yet is written when the process ends', async () => {
  const made = await administration.makeKey(['chat']);
  const ending = await administration.start();
  await use(made.key, ending);
  await ending.lifecycle.stop(5_000);
  expect(await lastUseOf(made.id)).toBeInstanceOf(Date);
});

test('a row that someone else is changing holds nothing up', async () => {
  const { sql, first } = administration;
  const busy = await administration.makeKey(['chat']);
  const free = await administration.makeKey(['chat']);
  await sql.begin(async (transaction) => {
    await transaction`SELECT 1 FROM keys WHERE id = ${busy.id} FOR UPDATE`;
    await use(busy.key);
    await use(free.key);
    await first.lifecycle.settle();
    expect(await lastUseOf(free.id)).toBeInstanceOf(Date);
  });
  expect(await lastUseOf(busy.id)).toBeNull();
});
