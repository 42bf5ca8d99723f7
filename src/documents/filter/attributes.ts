// What can be filtered and ordered by: the interface's table of filter parameters.

const TEXT_OPERATORS = [
  'eq',
  'neq',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'is_empty',
  'is_not_empty',
  'in',
  'not_in',
] as const;
export const OPERATORS = [
  ...TEXT_OPERATORS,
  'is__not_empty',
  'any',
  'not_any',
  'gt',
  'lt',
  'gte',
  'lte',
] as const;
export type Operator = (typeof OPERATORS)[number];

export type TextAttribute =
  | 'name'
  | 'owner_id'
  | 'storage_url'
  | 'file_hash'
  | 'file_type'
  | 'status'
  | 'summary';
export type DictionaryAttribute = 'access' | 'slots';
export type LabelAttribute = 'tags' | 'categories';
export type ComparedAttribute = 'created_at' | 'file_size';
export type Attribute = TextAttribute | DictionaryAttribute | LabelAttribute | ComparedAttribute | 'id';

/** Attributes that a page can be ordered by. */
export type ScalarAttribute = TextAttribute | ComparedAttribute | 'id';

type Rules = { operators: readonly Operator[]; fallback: Operator };

const TEXT: Rules = { operators: TEXT_OPERATORS, fallback: 'contains' };
const DICTIONARY: Rules = { operators: [...TEXT_OPERATORS, 'any', 'not_any'], fallback: 'contains' };
const LABELS: Rules = {
  operators: ['any', 'not_any', 'is_empty', 'is_not_empty', 'is__not_empty'],
  fallback: 'any',
};
const COMPARED: Rules = {
  operators: ['eq', 'neq', 'gt', 'lt', 'gte', 'lte', 'is_empty', 'is_not_empty'],
  fallback: 'eq',
};

/** Each filter parameter, with the operators that it allows and its default operator. */
export const ATTRIBUTES: Readonly<Record<Attribute, Rules>> = {
  name: TEXT,
  owner_id: TEXT,
  storage_url: TEXT,
  file_hash: TEXT,
  file_type: TEXT,
  status: TEXT,
  summary: TEXT,
  access: DICTIONARY,
  slots: DICTIONARY,
  tags: LABELS,
  categories: LABELS,
  created_at: COMPARED,
  file_size: COMPARED,
  id: { operators: ['eq', 'neq', 'is_empty', 'is_not_empty', 'in', 'not_in'], fallback: 'eq' },
};
