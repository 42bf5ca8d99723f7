// The weights of words in a large workspace, for callers who do not see everything: from what is public, and what is their own.

import { expect, test } from 'bun:test';
import { newId } from '../../../src/core/ids.ts';
import type { Viewer } from '../../../src/documents/policy.ts';
import { createUnderstand } from '../../../src/documents/retrieval/question.ts';
import { createWeighBySample } from '../../../src/documents/retrieval/shares.ts';
import { createReadStatistics, createTakeStatistics } from '../../../src/documents/retrieval/statistics.ts';
import { createStemmer } from '../../../src/documents/retrieval/stems.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());
const retrieval = retrievalIn(sql);
const QUESTION = 'report pump gasket kestrel';

/** How many passages of a thousand have each word of the question, as it is weighed for the viewer. */
async function sharesFor(viewer: Viewer): Promise<number[]> {
  const statistics = createReadStatistics();
  const understand = createUnderstand({
    sql,
    stemmer: createStemmer(),
    readStatistics: (by) => statistics(sql, by),
  });
  const question = await createWeighBySample()(sql, await understand(viewer, QUESTION), viewer);
  return question.terms
    .map(({ seen = 0 }) => Math.round((1000 * seen) / question.seen.passages))
    .toSorted((a, b) => a - b);
}

test('words that only others keep private weigh as if nobody had them', async () => {
  const workspaceId = `w-${crypto.randomUUID()}`;
  const person = (): Viewer => ({ workspaceId, userId: newId(), email: 'a@b.example', admin: false });
  const [publisher, stranger, reader] = [person(), person(), person()];
  const store = async (viewer: Viewer, passages: number, text: string, status: string) => {
    const id = await retrieval.store(
      viewer,
      null,
      ...Array.from({ length: passages }, (_, at) => `${text} x${at}.`),
    );
    await sql`UPDATE documents SET status = ${status} WHERE id = ${id}`;
  };
  for (let part = 0; part < 5; part++)
    await store(publisher, 1000, part === 0 ? 'The pump of the report' : 'The report', 'public');
  await store(reader, 1000, 'My gasket', 'private');
  const take = createTakeStatistics(sql);
  await take(new AbortController().signal);
  const before = { reader: await sharesFor(reader), stranger: await sharesFor(stranger) };
  // Of six thousand passages five thousand have a report, a thousand the pump, and a thousand of their own the gasket.
  expect(before.reader).toEqual([0, 167, 167, 833]);
  expect(before.stranger).toEqual([0, 0, 200, 1000]);
  await store(stranger, 2000, 'The kestrel and the pump', 'private');
  await take(new AbortController().signal);
  expect(await sharesFor(reader)).toEqual(before.reader);
});
