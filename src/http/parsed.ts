// Parameters with a grammar of their own: they arrive at the operation parsed.

import { Kind, type TSchema, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox';
import type { ValidationEntry } from '../core/errors.ts';

const PARSED = 'Parsed';

/** What a text stands for, or what is wrong with it. */
export type ParseOutcome<T> = { value: T } | { mistake: ValidationEntry };

type Parse<T> = (text: string, loc: (string | number)[]) => ParseOutcome<T>;

/** A string of the request that `parse` turns into a value; its mistakes stand among the others of the answer. */
export const Parsed = <T>(parse: Parse<T>, options: { description?: string } = {}): TUnsafe<T> =>
  Type.Unsafe<T>({ ...options, [Kind]: PARSED, type: 'string', parse });

// Never good as it is: the check that walks the value parses it.
TypeRegistry.Set(PARSED, () => false);

/** Runs the grammar of a `Parsed` schema. */
export const parseWith = (schema: TSchema, input: unknown, loc: (string | number)[]): ParseOutcome<unknown> =>
  (schema['parse'] as Parse<unknown>)(String(input), loc);
