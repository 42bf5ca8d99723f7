// As many processes as are asked for find a connection to the embedded database, all at once.

import { expect, test } from 'bun:test';
import { freePort } from '../support/child.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

test('the embedded database has room for every process', async () => {
  await using service = await startService({
    environment: { PROCESSES: '9', PORT: String(freePort()) },
    postgres: 'embedded',
  });
  const headers = { APIKeyHeader: BOOTSTRAP_KEY, connection: 'close' };
  const call = async () => (await fetch(`${service.url}/v1/${WORKSPACE}/trash`, { headers })).status;
  const statuses = new Set<number>();
  for (let round = 0; round < 3; round++) {
    for (const status of await Promise.all(Array.from({ length: 240 }, call))) statuses.add(status);
  }
  expect([...statuses]).toEqual([200]);
});
