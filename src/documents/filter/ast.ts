// Filters as they are written (Filter) and as engines evaluate them (Predicate).

import type {
  Attribute,
  ComparedAttribute,
  DictionaryAttribute,
  LabelAttribute,
  Operator,
  ScalarAttribute,
  TextAttribute,
} from './attributes.ts';

/** One filter parameter, parsed: `attribute=operator:key->value`. */
export type Filter = {
  attribute: Attribute;
  operator: Operator;
  /** The top-level key of a dictionary, its case exact. */
  key?: string;
  operand: Operand;
};

/** The value behind the operator, with its text as it was written. */
export type Operand =
  | { kind: 'text'; text: string }
  | { kind: 'list'; text: string; items: readonly string[] }
  | { kind: 'moment'; text: string; at: Date }
  | { kind: 'size'; text: string; size: number }
  | { kind: 'truth'; text: string; truth: boolean };

export type TextTest =
  /** Equal to one of the values. */
  | { kind: 'one-of'; values: readonly string[] }
  | { kind: 'contains' | 'starts-with' | 'ends-with'; value: string }
  /** Null, blank text, an empty list or an empty dictionary. */
  | { kind: 'empty' };

export type Comparison = 'eq' | 'gt' | 'lt' | 'gte' | 'lte';

/**
 * A test of one attribute; values of text are normalised. A negated predicate is true of exactly the documents that
 * the plain one is not true of, those without the value included.
 */
export type Predicate = { negated: boolean } & (
  | { attribute: TextAttribute; test: TextTest }
  /** Without a key the test asks every leaf; with one, the leaves of that top-level key. */
  | { attribute: DictionaryAttribute; key?: string; test: TextTest }
  | { attribute: LabelAttribute; test: Extract<TextTest, { kind: 'one-of' | 'empty' }> }
  | { attribute: 'id'; test: Extract<TextTest, { kind: 'one-of' | 'empty' }> }
  /** `value` is milliseconds since 1970 (created_at) or bytes (file_size). */
  | {
      attribute: ComparedAttribute;
      test: { kind: 'compare'; comparison: Comparison; value: number } | { kind: 'empty' };
    }
);

/** Nulls come last both ways; the id, ascending, breaks ties. */
export type Order = { attribute: ScalarAttribute; descending: boolean };
