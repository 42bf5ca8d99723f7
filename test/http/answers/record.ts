// Records the answers of this version: those that two services of their own give alike.

import { writeFileSync } from 'node:fs';
import { BOOTSTRAP_KEY, startService } from '../../support/service.ts';
import { answersOf, RECORDED, type Recorded } from './recording.ts';

/** Every third request is enough. */
const EVERY = 3;

async function record(): Promise<Recorded[]> {
  await using service = await startService();
  let count = 0;
  return await answersOf(service.url, BOOTSTRAP_KEY, () => count++ % EVERY === 0);
}

const [first, second] = [await record(), await record()];
const alike = first.filter((each, at) => Bun.deepEquals(each, second[at]));
writeFileSync(RECORDED, alike.map((each) => `${JSON.stringify(each)}\n`).join(''));
process.stdout.write(`${alike.length} of ${first.length} answers are recorded\n`);
process.exit(0);
