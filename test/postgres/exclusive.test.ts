// What one process at a time may do: not longer than the process demonstrably lives.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { exclusively } from '../../src/infra/postgres/exclusive.ts';
import { eventually, startChild } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const HOLDER = join(import.meta.dir, '../support/lock-holder.ts');
const LEASE_MS = 4000;

const database = await shared(testDatabase());

/** Whether the lock was free. */
async function taken(
  name: string,
  work: () => Promise<void> = async () => undefined,
  sql = database.sql,
): Promise<boolean> {
  let ran = false;
  await exclusively(sql, name, async () => {
    ran = true;
    await work();
  });
  return ran;
}

async function startHolder(name: string) {
  const environment = { DATABASE_URL: database.url, LOCK_NAME: name, LEASE_MS: `${LEASE_MS}` };
  const child = startChild([process.execPath, HOLDER], { environment });
  await eventually('the lock', () => child.output().includes('held\n'));
  return child;
}

test('one at a time runs, others return without having run, and the end frees the lock', async () => {
  expect(
    await taken('one', async () => {
      expect(await taken('one')).toBeFalse();
      expect(await taken('another')).toBeTrue();
    }),
  ).toBeTrue();
  await eventually('the lock to be free', () => taken('one'));
});

test('a process that lives keeps its lock for longer than a lease, also with nothing to do', async () => {
  const holder = await startHolder('kept');
  await Bun.sleep(2 * LEASE_MS);
  expect(await taken('kept')).toBeFalse();
  expect(holder.output()).not.toContain('lost');
  holder.kill('SIGKILL');
  await eventually('the lock of the dead to be free', () => taken('kept'));
});

test('one that hangs loses its lock, and knows it before it does anything more', async () => {
  const holder = await startHolder('hung');
  holder.kill('SIGSTOP');
  await eventually('the lock to be free', () => taken('hung'));
  holder.kill('SIGCONT');
  await eventually('the holder to notice', () => holder.output().includes('refused\n'));
  expect(holder.output()).toContain('lost\n');
  expect(holder.output()).not.toContain('too late\n');
  await holder.stop();
});
