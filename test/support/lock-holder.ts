// A process that holds a lock, takes a step every few milliseconds, and says when it may no more.

import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { exclusively } from '../../src/infra/postgres/exclusive.ts';
import { silentLog } from './database.ts';

const { DATABASE_URL = '', LOCK_NAME = '', LEASE_MS } = process.env;
const say = (word: string): void => void process.stdout.write(`${word}\n`);

const sql = connectPostgres({ url: DATABASE_URL, applicationName: 'test', log: silentLog });
await exclusively(
  sql,
  LOCK_NAME,
  async (lease) => {
    say('held');
    lease.signal.addEventListener('abort', () => say('lost'));
    for (let before = performance.now(); ; before = performance.now()) {
      // No pause in which the loss could be heard of first: a step that was begun goes on after the process hung.
      while (performance.now() - before < 20);
      const isTooLate = performance.now() - before > Number(LEASE_MS);
      try {
        lease.assert();
        if (isTooLate) say('too late');
      } catch {
        say('refused');
        break;
      }
      // So short that the process is hardly ever stopped here, where it could hear of the loss before its next step.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Bun.sleep(60_000);
  },
  Number(LEASE_MS),
);
