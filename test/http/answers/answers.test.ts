// A thousand requests to all operations, most of them malformed, are answered as they were when their answers were recorded: a change of
// how requests are taken must not change what callers see. After a change that is meant: `bun test/http/answers/record.ts`.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { BOOTSTRAP_KEY, startService } from '../../support/service.ts';
import { answersOf, RECORDED, type Recorded } from './recording.ts';

test('requests to all operations are answered as recorded', async () => {
  await using service = await startService();
  const recorded = new Map(
    readFileSync(RECORDED, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line): [string, Recorded] => [(JSON.parse(line) as Recorded).name, JSON.parse(line)]),
  );
  const answered = await answersOf(service.url, BOOTSTRAP_KEY, (name) => recorded.has(name));
  expect(answered.length).toBeGreaterThan(900);
  expect(answered).toEqual([...recorded.values()]);
});
