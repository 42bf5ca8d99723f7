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
import { LANGUAGES } from './vocabulary.ts';

type Pairs = [string, string][];

export type Shape = {
  name: string;
  /** p95 in multiples of the floor's, with Postgres alone and with Meilisearch. */
  target?: number;
  mirroredTarget?: number;
  slow?: true;
  query(random: Random, workspace: Workspace): Pairs;
};

const DAY_MS = 86_400_000;
const DEEP_OFFSET = 100_000;
const PAGE = 50;

/** Of about 20 % down to 5 % of the documents. */
const commonTag = (random: Random): string => pick(random, TAGS.slice(0, 6));

/** Begins: the words that a tenth of the names of its language has. */
const commonWord = (random: Random): string =>
  pick(random, pick(random, Object.values(LANGUAGES)).slice(0, 3));

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

export const FACET_RANGE: Shape = {
  name: 'facet + range, newest first',
  target: 10,
  mirroredTarget: 8,
  query: (random) => [['tags', `any:${commonTag(random)}`], ...period(random)],
};
export const EVERYTHING: Shape = {
  name: 'everything, newest first',
  target: 10,
  mirroredTarget: 8,
  query: somePage,
};
export const BY_NAME: Shape = {
  name: 'everything, by name',
  target: 10,
  mirroredTarget: 8,
  query: (random) => [['order_by', pick(random, ['name ASC', 'name DESC'])], ...somePage(random)],
};
const NAME_SELECTIVE: Shape = {
  name: 'name contains, selective',
  target: 10,
  mirroredTarget: 10,
  query: (random, workspace) => [
    ['name', `contains:${longest(wordsOf(random, workspace, 'name', 4)).slice(1)}`],
  ],
};
const TYPED_WORDS: Shape = {
  name: 'q: two words, one mistyped',
  target: 20,
  mirroredTarget: 20,
  query(random, workspace) {
    const [first = '', second = ''] = wordsOf(random, workspace, 'name', 6);
    return [['q', `${first} ${mistype(second)}`]];
  },
};
export const SUMMARY_COMMON: Shape = {
  name: 'summary contains, common',
  slow: true,
  query: (random) => [['summary', `contains:${commonWord(random).slice(1, 6)}`]],
};

export const LARGE_SHAPES: readonly Shape[] = [
  FACET_RANGE,
  EVERYTHING,
  BY_NAME,
  {
    name: 'three common facets',
    target: 40,
    mirroredTarget: 8,
    query: (random) => [
      ['tags', `any:${commonTag(random)}`],
      ['categories', `any:${pick(random, CATEGORIES.slice(0, 6))}`],
      ['file_type', `eq:${pick(random, FILE_TYPES.slice(0, 3))}`],
    ],
  },
  {
    name: 'not_any of a common tag, neq',
    target: 40,
    mirroredTarget: 8,
    query: (random) => [
      ['tags', `not_any:${commonTag(random)}`],
      ['file_type', `neq:${pick(random, FILE_TYPES)}`],
    ],
  },
  {
    name: 'in, not_in',
    target: 40,
    mirroredTarget: 8,
    query: (random) => [
      ['file_type', `in:${pick(random, FILE_TYPES.slice(0, 3))},${pick(random, FILE_TYPES.slice(3))}`],
      ['file_type', `not_in:${pick(random, FILE_TYPES.slice(3, 6))},${pick(random, FILE_TYPES.slice(6))}`],
    ],
  },
  NAME_SELECTIVE,
  {
    name: 'name contains, common',
    target: 80,
    mirroredTarget: 80,
    query: (random) => [['name', `contains:${commonWord(random).slice(0, 5)}`]],
  },
  {
    name: 'offset 100,000, newest first',
    target: 10,
    mirroredTarget: 10,
    query(random, workspace) {
      const offset = Math.min(DEEP_OFFSET, Math.floor(workspace.documents / 4)) + PAGE * below(random, 40);
      return random() < 0.5
        ? [
            ['page', String(1 + Math.floor(offset / PAGE))],
            ['size', String(PAGE)],
          ]
        : [
            ['limit', String(PAGE)],
            ['offset', String(offset)],
          ];
    },
  },
  {
    name: 'size range, by size',
    mirroredTarget: 8,
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
    name: 'summary contains, selective',
    query: (random, workspace) => [
      ['summary', `contains:${longest(wordsOf(random, workspace, 'summary', 8))}`],
    ],
  },
  SUMMARY_COMMON,
  TYPED_WORDS,
  {
    name: 'slots key->value',
    query: (random) => [
      pick(random, [
        ['slots', `eq:department->${pick(random, DEPARTMENTS)}`],
        ['slots', `eq:language->${pick(random, Object.keys(LANGUAGES))}`],
        ['slots', `eq:score->${below(random, 100)}`],
      ]),
    ],
  },
];

/** Those that are asked of the many small workspaces too. */
export const SMALL_SHAPES: readonly Shape[] = [FACET_RANGE, NAME_SELECTIVE, TYPED_WORDS];

const VARIANTS = 300;

/** Paths with their queries, in workspaces taken at random. */
export function variantsOf(
  shape: Shape,
  workspaces: readonly Workspace[],
): { workspace: Workspace; path: string }[] {
  const random = createRandom(Bun.hash.crc32(shape.name), workspaces.length);
  return Array.from({ length: VARIANTS }, () => {
    const workspace = pick(random, workspaces);
    const query = new URLSearchParams(shape.query(random, workspace));
    return { workspace, path: `/v1/filter/${workspace.id}?${query}` };
  });
}
