// Question → the passage that answers it: how often it comes first, and among the first five, by language and mode.

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BOOTSTRAP_KEY, startService } from '../../test/support/service.ts';
import { printTable } from '../lib/report.ts';
import { readCollections } from './collection.ts';
import { type Mode, openLibrary } from './library.ts';

const MODES: readonly Mode[] = ['words', 'vectors', 'hybrid'];
const OPTIONS = {
  collection: { type: 'string', default: join(import.meta.dir, 'manuals') },
  languages: { type: 'string' },
  questions: { type: 'string', default: '10000' },
  modes: { type: 'string', default: MODES.join(',') },
  /** A file of models (MODELS_CONFIG) whose default embedding model embeds; without it the built-in one does. */
  model: { type: 'string' },
} as const;

const FIRST_MIN = 0.89;
const FIVE_MIN = 0.97;
const LOSS_MAX = 0.005;

type Recall = { first: number; five: number };

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const modes = MODES.filter((mode) => values.modes.split(',').includes(mode));
  const collections = readCollections(values.collection, {
    languages: values.languages?.split(','),
    questions: Number(values.questions),
  });
  const service = await startService({
    environment: {
      CONTENT: 'on',
      SWEEP_INTERVAL_SECONDS: '2',
      ...(values.model === undefined ? {} : { MODELS_CONFIG: values.model }),
    },
  });
  try {
    const rows: { language: string; questions: number; recalls: Partial<Record<Mode, Recall>> }[] = [];
    for (const collection of collections) {
      const place = { url: service.url, adminKey: BOOTSTRAP_KEY };
      const library = await openLibrary(place, collection, modes);
      const recalls: Partial<Record<Mode, Recall>> = {};
      for (const mode of modes) recalls[mode] = recallOf(await library.places(collection.questions, mode));
      rows.push({ language: collection.language, questions: collection.questions.length, recalls });
      console.log(collection.language, JSON.stringify(recalls));
    }
    report(rows, modes);
  } finally {
    await service[Symbol.asyncDispose]();
  }
}

const recallOf = (places: readonly (number | undefined)[]): Recall => ({
  first: places.filter((place) => place === 0).length / places.length,
  five: places.filter((place) => place !== undefined).length / places.length,
});

function report(
  rows: readonly { language: string; questions: number; recalls: Partial<Record<Mode, Recall>> }[],
  modes: readonly Mode[],
): void {
  const show = (recall: Recall | undefined): string =>
    recall === undefined ? '' : `${recall.first.toFixed(3)} / ${recall.five.toFixed(3)}`;
  const mean = (mode: Mode): Recall => {
    const all = rows.map(({ recalls }) => recalls[mode] ?? { first: 0, five: 0 });
    const of = (key: keyof Recall) => all.reduce((sum, recall) => sum + recall[key], 0) / all.length;
    return { first: of('first'), five: of('five') };
  };
  printTable(
    'Recall at 1 / at 5: question → the passage that answers it',
    ['language', 'questions', ...modes],
    [
      ...rows.map(({ language, questions, recalls }) => [
        language,
        String(questions),
        ...modes.map((mode) => show(recalls[mode])),
      ]),
      ['mean', '', ...modes.map((mode) => show(mean(mode)))],
    ],
  );
  if (modes.length < MODES.length) return;
  const hybrid = mean('hybrid');
  const met = hybrid.first >= FIRST_MIN && hybrid.five >= FIVE_MIN;
  console.log(`\nhybrid, mean ≥ ${FIRST_MIN} / ${FIVE_MIN}: ${met ? 'met' : '**missed**'}`);
  for (const { language, recalls } of rows) {
    const loss = (key: keyof Recall): number =>
      Math.max(recalls.words?.[key] ?? 0, recalls.vectors?.[key] ?? 0) - (recalls.hybrid?.[key] ?? 0);
    const worst = Math.max(loss('first'), loss('five'));
    if (worst > LOSS_MAX)
      console.log(`${language}: **missed**: ${(100 * worst).toFixed(1)} points below the better half`);
  }
}
