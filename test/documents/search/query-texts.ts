// Random queries, as their authors would write them: texts of filters that go through the grammar.

import type { Document } from '../../../src/documents/document.ts';
import type { Predicate } from '../../../src/documents/filter/ast.ts';
import type { ScalarAttribute } from '../../../src/documents/filter/attributes.ts';
import { ATTRIBUTES, type Attribute, type Operator } from '../../../src/documents/filter/attributes.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { DAY_MS, EPOCH_MS, KEYS, NASTY, OWNERS, type Random } from './corpus.ts';

const NAMES = Object.keys(ATTRIBUTES) as Attribute[];
const SCALARS: ScalarAttribute[] = [
  'name',
  'owner_id',
  'storage_url',
  'file_hash',
  'file_type',
  'status',
  'summary',
  'created_at',
  'file_size',
  'id',
];

/** Mostly a value that some document has, or a piece of it; otherwise one that may match nothing. */
function valueFor(
  random: Random,
  attribute: Attribute,
  operator: Operator,
  documents: readonly Document[],
): string {
  if (operator.startsWith('is_')) return random.pick(['true', 'false']);
  if (attribute === 'file_size')
    return String(random.pick([0, 1, 5, 1023, 1024, 2 ** 31, '99999999999999999999', -1]));
  if (attribute === 'created_at') {
    const at = new Date(EPOCH_MS + random.whole(40) * (DAY_MS / 4) + random.pick([0, 1, -1, 999, 12_345]));
    return random.pick([at.toISOString(), at.toISOString().slice(0, 19), at.toISOString().slice(0, 10)]);
  }
  const source = random.pick(documents);
  const whole = textsOf(random, source, attribute);
  const text = random.chance(0.15) ? random.pick(NASTY) : whole;
  const points = [...text];
  const start = random.whole(Math.max(1, points.length));
  const piece = points.slice(start, start + 1 + random.whole(12)).join('');
  const written =
    operator === 'contains' || operator === 'not_contains'
      ? random.chance(0.7)
        ? piece
        : text
      : operator === 'starts_with'
        ? points.slice(0, 1 + random.whole(12)).join('')
        : operator === 'ends_with'
          ? points.slice(-1 - random.whole(12)).join('')
          : ['in', 'not_in', 'any', 'not_any'].includes(operator)
            ? [text, random.pick(NASTY)].slice(0, 1 + random.whole(2)).join(',')
            : text;
  return random.chance(0.2) ? written.toUpperCase() : written;
}

function textsOf(random: Random, document: Document, attribute: Attribute): string {
  const one = (values: readonly string[] | null) => random.pick(values?.length ? values : ['none']);
  switch (attribute) {
    case 'tags':
    case 'categories':
      return one(document[attribute]);
    case 'slots':
    case 'access': {
      const entry = random.pick(Object.entries(document[attribute] ?? { year: '2024' }));
      const value = String(random.pick([entry?.[1] ?? 'none'].flat()) ?? '');
      return value;
    }
    case 'storage_url':
      return `atrium/${document.objectKey}`;
    case 'owner_id':
      return document.ownerId;
    case 'file_hash':
      return document.fileHash ?? 'none';
    case 'file_type':
      return document.fileType ?? 'none';
    case 'summary':
      return document.summary ?? 'none';
    case 'id':
      return document.id;
    case 'status':
      return random.pick(['public', 'private', 'deleted', 'PUB', 'iv']);
    default:
      return document.name;
  }
}

function randomPredicate(random: Random, documents: readonly Document[]): Predicate[] {
  const attribute = random.pick(NAMES);
  const operator = random.pick(ATTRIBUTES[attribute].operators);
  const keyed = (attribute === 'slots' || attribute === 'access') && random.chance(0.6);
  const key = random.pick([...KEYS.filter((each) => !each.includes('->')), 'curators', 'absent']);
  const value = valueFor(random, attribute, operator, documents);
  const parsed = parseFilter(attribute, `${operator}:${keyed ? `${key}->` : ''}${value}`, [
    'query',
    attribute,
    0,
  ]);
  return 'value' in parsed ? [toPredicate(parsed.value)] : [];
}

/** A query that the mirror can answer: labels, exact values, ranges, and the orders that it keeps. */
export function randomFacetQuery(random: Random, documents: readonly Document[]): SearchQuery {
  const query = randomQuery(random, documents);
  const operators: Partial<Record<Attribute, readonly Operator[]>> = {
    tags: ATTRIBUTES.tags.operators,
    categories: ATTRIBUTES.categories.operators,
    created_at: ATTRIBUTES.created_at.operators.slice(0, 6),
    file_size: ATTRIBUTES.file_size.operators,
    file_type: EXACT,
    file_hash: EXACT,
    owner_id: EXACT.slice(0, 4),
    status: ATTRIBUTES.status.operators,
    slots: EXACT.slice(0, 4),
  };
  const made = Array.from({ length: random.whole(5) }, () => {
    const attribute = random.pick(Object.keys(operators) as Attribute[]);
    const operator = random.pick(operators[attribute] ?? EXACT);
    const key = attribute === 'slots' ? `${random.pick(['dept', 'year', 'list', 'absent'])}->` : '';
    const text = `${operator}:${key}${valueFor(random, attribute, operator, documents)}`;
    const parsed = parseFilter(attribute, text, ['query', attribute, 0]);
    return 'value' in parsed ? [toPredicate(parsed.value)] : [];
  });
  const order = random.pick([
    [{ attribute: 'created_at', descending: true }],
    [{ attribute: 'name', descending: random.chance(0.5) }],
    [{ attribute: 'file_size', descending: random.chance(0.5) }],
    [{ attribute: 'id', descending: true }],
    [
      { attribute: 'file_size', descending: true },
      { attribute: 'name', descending: false },
    ],
  ] satisfies SearchQuery['order'][]);
  return { ...query, predicates: made.flat(), order };
}

const EXACT = ['eq', 'neq', 'in', 'not_in', 'is_empty', 'is_not_empty'] as const;

/** Some words of a document, of which some are mistyped, swapped or unfinished. */
export function randomTextQuery(random: Random, documents: readonly Document[]): SearchQuery {
  const query = randomQuery(random, documents);
  const { name, summary, tags } = random.pick(documents);
  const words = [name, ...(tags ?? []), summary ?? ''].join(' ').split(/[\s-]+/);
  const mistyped = (word: string): string => {
    const at = random.whole(word.length);
    const rest = word.slice(at + 1);
    return random.pick([
      word,
      word,
      word.slice(0, at) + rest,
      `${word.slice(0, at)}q${rest}`,
      `${word.slice(0, at)}${rest.slice(0, 1)}${word.slice(at, at + 1)}${rest.slice(1)}`,
    ]);
  };
  const text = Array.from({ length: 1 + random.whole(3) }, () => mistyped(random.pick(words))).join(' ');
  const predicates = random.chance(0.3) ? query.predicates : [];
  return { ...query, predicates, text: random.chance(0.2) ? text.slice(0, -1) : text };
}

export function randomQuery(random: Random, documents: readonly Document[]): SearchQuery {
  const person = random.pick(OWNERS);
  const order = Array.from({ length: 1 + random.whole(2) }, () => ({
    attribute: random.pick(SCALARS),
    descending: random.chance(0.5),
  }));
  return {
    viewer: { workspaceId: 'acme', userId: person.id, email: person.email, admin: random.chance(0.3) },
    predicates: Array.from({ length: random.whole(4) }, () => randomPredicate(random, documents)).flat(),
    archived: random.pick(['without', 'without', 'only', 'any']),
    order: order.filter(
      ({ attribute }, index) => order.findIndex((each) => each.attribute === attribute) === index,
    ),
    offset: random.pick([0, 0, 0, 1, 7, 50, 600]),
    limit: random.pick([1, 3, 10, 50, 100]),
  };
}
