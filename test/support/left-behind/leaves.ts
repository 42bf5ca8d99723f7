// Run by test/run.test.ts as a test file: starts what it does not end, and writes what it is to REPORT.

import { expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startChild } from '../child.ts';
import { testDatabase } from '../database.ts';
import { startService } from '../service.ts';

setDefaultTimeout(600_000);

test('leaves processes behind', async () => {
  const shell = startChild(['sh', '-c', 'setsid sleep 600 & echo $!; sleep 600'], { detached: true });
  const { url } = await testDatabase();
  const service = await startService({ postgres: 'embedded' });
  const connection = readFileSync(join(service.dataDir, 'postgres/connection.json'), 'utf8');
  const inSession = await eventually('the shell', () => /^\d+/.exec(shell.output())?.[0]);
  const pids = [shell.pid, Number(inSession), service.child.pid, JSON.parse(connection).pid];
  const ports = [url, service.url].map((place) => Number(new URL(place).port));
  await Bun.write(process.env['REPORT'] ?? '', JSON.stringify({ folder: tmpdir(), pids, ports }));
  if (process.env['HANG'] === '1') await Bun.sleep(600_000);
  expect(pids).toHaveLength(4);
});
