// What is asked: each shape many times over with other values, so that no page and no plan is asked for twice in a row.

import {
  CATEGORIES,
  CORPUS_END,
  CORPUS_START,
  DEPARTMENTS,
  documentAt,
  FILE_TYPES,
  sizeAt,
  TAGS,
  type Workspace,
} from './corpus.ts';
import { below, createRandom, pick, type Random } from './random.ts';

type Pairs = [string, string][];

export type Shape = {
  name: string;
  /** p95 at one in flight, in multiples of the floor's. */
  target?: number;
  query(random: Random, workspace: Workspace): Pairs;
};

const DAY_MS = 86_400_000;
const DEEP_OFFSET = 100_000;
const PAGE = 50;

/** Of about 20 % down to 5 % of the documents. */
const commonTag = (random: Random): string => pick(random, TAGS.slice(0, 6));

function period(random: Random): Pairs {
  const from = CORPUS_START + random() * (CORPUS_END - CORPUS_START - 60 * DAY_MS);
  const to = from + (30 + random() * 500) * DAY_MS;
  const written = (time: number) => new Date(time).toISOString();
  return [
    ['created_at', `gte:${written(from)}`],
    ['created_at', `lt:${written(to)}`],
  ];
}

const somePage = (random: Random): Pairs => [['page', String(1 + below(random, 20))]];

/** Of a document that everybody may see: its words of letters alone. */
function wordsOf(random: Random, workspace: Workspace, text: 'name' | 'summary', length: number): string[] {
  for (;;) {
    const document = documentAt(workspace, below(random, workspace.documents));
    const words = (document[text] ?? '').match(/\p{L}+/gu)?.filter((word) => word.length >= length) ?? [];
    if (document.status === 'public' && document.archivedAt === null && words.length > 1) return words;
  }
}

const longest = (words: readonly string[]): string =>
  words.reduce((found, word) => (word.length > found.length ? word : found), '');

/** Two letters in its middle change places. */
const mistype = (word: string): string => {
  const letters = [...word];
  const at = Math.floor(letters.length / 2);
  return [...letters.slice(0, at - 1), letters[at], letters[at - 1], ...letters.slice(at + 1)].join('');
};

export const SHAPES: readonly Shape[] = [
  {
    name: 'facet + range, newest first',
    target: 15,
    query: (random) => [['tags', `any:${commonTag(random)}`], ...period(random)],
  },
  { name: 'everything, newest first', query: somePage },
  {
    name: 'everything, by name',
    query: (random) => [['order_by', pick(random, ['name ASC', 'name DESC'])], ...somePage(random)],
  },
  {
    name: 'offset 100,000, newest first',
    query(random, workspace) {
      const offset = Math.min(DEEP_OFFSET, Math.floor(workspace.documents / 4)) + PAGE * below(random, 40);
      return [
        ['limit', String(PAGE)],
        ['offset', String(offset)],
      ];
    },
  },
  {
    name: 'three common facets',
    query: (random) => [
      ['tags', `any:${commonTag(random)}`],
      ['categories', `any:${pick(random, CATEGORIES.slice(0, 6))}`],
      ['file_type', `eq:${pick(random, FILE_TYPES.slice(0, 3))}`],
    ],
  },
  {
    name: 'in, not_in',
    query: (random) => [
      ['file_type', `in:${pick(random, FILE_TYPES.slice(0, 3))},${pick(random, FILE_TYPES.slice(3))}`],
      ['file_type', `not_in:${pick(random, FILE_TYPES.slice(3, 6))},${pick(random, FILE_TYPES.slice(6))}`],
    ],
  },
  {
    name: 'size range, by size',
    query(random) {
      const least = sizeAt(random() * 2 - 1);
      return [
        ['file_size', `gte:${least}`],
        ['file_size', `lte:${Math.round(least * (1.2 + random() * 3))}`],
        ['order_by', pick(random, ['file_size ASC', 'file_size DESC'])],
      ];
    },
  },
  {
    name: 'slots key->value',
    query: (random) => [['slots', `eq:department->${pick(random, DEPARTMENTS)}`]],
  },
  {
    name: 'name contains, selective',
    query: (random, workspace) => [
      ['name', `contains:${longest(wordsOf(random, workspace, 'name', 4)).slice(1)}`],
    ],
  },
  {
    name: 'summary contains, selective',
    query: (random, workspace) => [
      ['summary', `contains:${longest(wordsOf(random, workspace, 'summary', 8))}`],
    ],
  },
  {
    name: 'q: two words, one mistyped',
    query(random, workspace) {
      const [first = '', second = ''] = wordsOf(random, workspace, 'name', 6);
      return [['q', `${first} ${mistype(second)}`]];
    },
  },
];

const VARIANTS = 300;

/** Paths with their queries. */
export function pathsOf(shape: Shape, workspace: Workspace): string[] {
  const random = createRandom(Bun.hash.crc32(shape.name));
  return Array.from(
    { length: VARIANTS },
    () => `/v1/filter/${workspace.id}?${new URLSearchParams(shape.query(random, workspace))}`,
  );
}
