// What the guard keeps: for each floor the ratios that are measured against it, and what they are where nothing is wrong. A change that
// makes one better raises it here.

import { compareVerification } from '../bots/verification.ts';
import { compareHistory } from '../chat/history.ts';
import { compareWithC } from '../compute/kernels.ts';
import { median } from '../compute/statistics.ts';
import { compareWithFloors } from '../everyday/floors.ts';
import { compareSearches, ratioOf } from '../everyday/searches.ts';
import { startSetting as startGateway } from '../gateway/setting.ts';
import { compareSmall } from '../gateway/small.ts';
import { compareBatches } from '../usage/ingestion.ts';
import { comparePages } from '../usage/retrieval.ts';
import { startSetting as startUsage } from '../usage/setting.ts';
import { compareScan } from '../vectors/index.ts';

export type Ratio = { name: string; holds: number; better: 'more' | 'less' };

export type Guarded = {
  ratios: readonly Ratio[];
  /** The program without which the floor cannot be measured. */
  needs?: string;
  /** In the order of the ratios. */
  measure(): Promise<number[]>;
};

const less = (name: string, holds: number): Ratio => ({ name, holds, better: 'less' });
const more = (name: string, holds: number): Ratio => ({ name, holds, better: 'more' });

const VERIFICATION_ROUNDS = 25;
const FIBONACCI_ROUNDS = 5;
const VECTORS = 100_000;
/** Few would measure the compiler. */
const VECTOR_ROUNDS = 50;
const GATEWAY = { seconds: 1.5, rounds: 3 };
const EVENTS_SECONDS = 8;
/** What the batches before it have stored in each workspace. */
const PAGES_DEPTH = 100_000;
const PAGE_REQUESTS = 150;
const SEARCHES = { rounds: 2, seconds: 0.4, only: /^(a tag|two facets|by name|a summary)/ };
const FLOORS = { rounds: 4, seconds: 0.4 };
const HISTORY_READS = 500;
const HISTORY_SECONDS = 2;

export const GUARDED: readonly Guarded[] = [
  {
    ratios: [
      less("bots: an event's token, of bare RS256, 1 in flight", 1.22),
      less("bots: an event's token, of bare RS256, 16 in flight", 1.22),
    ],
    measure: async () => (await compareVerification(VERIFICATION_ROUNDS)).map(({ ratio }) => ratio),
  },
  {
    ratios: [less('compute: fib(42), of C', 1.25)],
    needs: 'gcc',
    measure: async () => [median((await compareWithC(FIBONACCI_ROUNDS)).map(({ c, kernel }) => kernel / c))],
  },
  {
    ratios: [more('vectors: a scan, of C', 0.5)],
    needs: 'gcc',
    async measure() {
      const { c, one } = await compareScan(VECTORS, VECTOR_ROUNDS);
      return [c / one];
    },
  },
  {
    ratios: [less("gateway: processor time of a small call, of a pass-through's", 2.9)],
    async measure() {
      await using setting = await startGateway();
      return [(await compareSmall(setting, 16, GATEWAY)).processor];
    },
  },
  {
    ratios: [less('documents: processor time of a search, of a statement by hand, mean of some', 1.6)],
    async measure() {
      const ratios = (await compareSearches(300, SEARCHES)).map(ratioOf);
      return [ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length];
    },
  },
  {
    ratios: [
      less('usage: processor time of a batched event, of COPY', 2.1),
      less('usage: a page in the depth, of the first', 1.07),
      less('usage: a page backwards in the depth, of the first', 1.07),
      less('usage: a page with a total, of the first', 1.15),
      less('usage: a page of a window with a total, of the first', 1.27),
    ],
    async measure() {
      await using setting = await startUsage('journal');
      const batches = await compareBatches(setting, EVENTS_SECONDS);
      const [, ...pages] = (await comparePages(setting, PAGES_DEPTH, PAGE_REQUESTS)).pages;
      return [batches, ...pages.map(({ ratio }) => ratio)];
    },
  },
  {
    ratios: [
      less('chat: the window of a long history, of a short one', 1),
      less('chat: send-message on a long history, of a short one', 1.01),
    ],
    async measure() {
      const { read, send } = await compareHistory(HISTORY_READS, HISTORY_SECONDS);
      return [read.ratio, send.ratio];
    },
  },
  {
    ratios: [
      less('gateway: processor time of one embedding, of a vector as JSON', 4.6),
      less('usage: processor time of a page of 50 events, of its statement', 1.5),
      less('documents: processor time of a patch, of an update of one row', 8),
      less('chat: processor time of a message with the local echo, of two inserts', 6.5),
    ],
    measure: () => compareWithFloors(FLOORS),
  },
];
