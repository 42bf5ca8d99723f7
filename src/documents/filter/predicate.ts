// Filters as they are written → predicates as engines evaluate them.

import { normalise } from '../search/terms.ts';
import type { Comparison, Filter, Predicate, TextTest } from './ast.ts';
import type { Operator } from './attributes.ts';

const NEGATIVE: ReadonlySet<Operator> = new Set(['neq', 'not_contains', 'not_in', 'not_any']);

const TESTS: Partial<Record<Operator, TextTest['kind']>> = {
  contains: 'contains',
  not_contains: 'contains',
  starts_with: 'starts-with',
  ends_with: 'ends-with',
};

const COMPARISONS: Partial<Record<Operator, Comparison>> = { gt: 'gt', lt: 'lt', gte: 'gte', lte: 'lte' };

export function toPredicate({ attribute, operator, key, operand }: Filter): Predicate {
  const negated = NEGATIVE.has(operator);
  const keyed = key === undefined ? {} : { key };
  // The grammar gives every attribute only the operands that it can be tested with.
  const made = (test: Predicate['test'], not = negated) =>
    ({
      attribute,
      ...keyed,
      negated: not,
      test: attribute === 'storage_url' ? withScheme(test) : test,
    }) as Predicate;
  switch (operand.kind) {
    case 'truth':
      return made({ kind: 'empty' }, operand.truth !== (operator === 'is_empty'));
    case 'size':
      return made({ kind: 'compare', comparison: COMPARISONS[operator] ?? 'eq', value: operand.size });
    case 'moment':
      return made({
        kind: 'compare',
        comparison: COMPARISONS[operator] ?? 'eq',
        value: operand.at.getTime(),
      });
    case 'list':
      return made({ kind: 'one-of', values: operand.items.map(normalise) });
    case 'text': {
      const kind = TESTS[operator] ?? 'one-of';
      const value = normalise(operand.text);
      return made(kind === 'one-of' ? { kind, values: [value] } : ({ kind, value } as TextTest));
    }
  }
}

const SCHEME = 's3:';

/**
 * The value of a location has no scheme, because a value holds no colon. What only fits the start of the scheme itself
 * stays as it is; for pieces and ends the scheme makes no difference.
 */
function withScheme(test: Predicate['test']): Predicate['test'] {
  if (test.kind === 'one-of') return { ...test, values: test.values.map((value) => `${SCHEME}//${value}`) };
  if (test.kind !== 'starts-with' || SCHEME.startsWith(test.value)) return test;
  return { ...test, value: `${SCHEME}//${test.value}` };
}
