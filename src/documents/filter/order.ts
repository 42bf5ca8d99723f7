import type { ParseOutcome } from '../../http/parsed.ts';
import type { Order } from './ast.ts';
import { ATTRIBUTES, type ScalarAttribute } from './attributes.ts';

const UNORDERED: ReadonlySet<string> = new Set(['access', 'slots', 'tags', 'categories']);
const ORDERED = Object.keys(ATTRIBUTES).filter((name) => !UNORDERED.has(name)) as ScalarAttribute[];

/** As it would be sent. */
export const DEFAULT_ORDER_TEXT = 'created_at DESC';
export const DEFAULT_ORDER: readonly Order[] = [{ attribute: 'created_at', descending: true }];

/** Parses `attribute[ ASC|DESC]`. */
export function parseOrder(text: string, loc: (string | number)[]): ParseOutcome<Order> {
  const [name = '', direction = 'asc', ...rest] = text.trim().split(/\s+/);
  const attribute = ORDERED.find((each) => each === name);
  const descending = direction.toLowerCase() === 'desc';
  if (attribute === undefined) return mistake(loc, text, `unknown attribute '${name}'`);
  if (rest.length > 0 || !(descending || direction.toLowerCase() === 'asc'))
    return mistake(loc, text, `after '${name}' comes nothing, ASC or DESC`);
  return { value: { attribute, descending } };
}

/** Of an attribute that is named twice the first counts. */
export const distinctOrder = (given: readonly Order[]): Order[] =>
  given.filter(
    ({ attribute }, index) => given.findIndex((earlier) => earlier.attribute === attribute) === index,
  );

function mistake(loc: (string | number)[], input: string, reason: string): ParseOutcome<Order> {
  const error = `${reason}; a page can be ordered by ${ORDERED.join(', ')}`;
  return { mistake: { type: 'value_error', loc, msg: `Value error, ${error}`, input, ctx: { error } } };
}
