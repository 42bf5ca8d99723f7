// The entries of a 422 body as FastAPI 0.142 with pydantic 2.13 writes them.

export type Entry = {
  type: string;
  loc: (string | number)[];
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
};
type Loc = Entry['loc'];

export const missing = (loc: Loc, input: unknown): Entry => ({
  type: 'missing',
  loc,
  msg: 'Field required',
  input,
});

export const notInteger = (loc: Loc, input: string): Entry => ({
  type: 'int_parsing',
  loc,
  msg: 'Input should be a valid integer, unable to parse string as an integer',
  input,
});

export const fractional = (loc: Loc, input: number): Entry => ({
  type: 'int_from_float',
  loc,
  msg: 'Input should be a valid integer, got a number with a fractional part',
  input,
});

export const tooSmall = (loc: Loc, input: unknown, ge: number): Entry => ({
  type: 'greater_than_equal',
  loc,
  msg: `Input should be greater than or equal to ${ge}`,
  input,
  ctx: { ge },
});

export const tooLarge = (loc: Loc, input: unknown, le: number): Entry => ({
  type: 'less_than_equal',
  loc,
  msg: `Input should be less than or equal to ${le}`,
  input,
  ctx: { le },
});

export const notBoolean = (loc: Loc, input: string): Entry => ({
  type: 'bool_parsing',
  loc,
  msg: 'Input should be a valid boolean, unable to interpret input',
  input,
});

export const notEnum = (loc: Loc, input: unknown, expected: string): Entry => ({
  type: 'enum',
  loc,
  msg: `Input should be ${expected}`,
  input,
  ctx: { expected },
});

const TYPES = { string: 'string', list: 'list', dict: 'dictionary', int: 'integer' } as const;

export const notType = (type: keyof typeof TYPES, loc: Loc, input: unknown): Entry => ({
  type: `${type}_type`,
  loc,
  msg: `Input should be a valid ${TYPES[type]}`,
  input,
});

export const notObject = (loc: Loc, input: unknown): Entry => ({
  type: 'model_attributes_type',
  loc,
  msg: 'Input should be a valid dictionary or object to extract fields from',
  input,
});

export const tooShort = (loc: Loc, input: string, min_length: number): Entry => ({
  type: 'string_too_short',
  loc,
  msg: `String should have at least ${min_length} character${min_length === 1 ? '' : 's'}`,
  input,
  ctx: { min_length },
});

export const tooLong = (loc: Loc, input: string, max_length: number): Entry => ({
  type: 'string_too_long',
  loc,
  msg: `String should have at most ${max_length} characters`,
  input,
  ctx: { max_length },
});

export const noMatch = (loc: Loc, input: string, pattern: string): Entry => ({
  type: 'string_pattern_mismatch',
  loc,
  msg: `String should match pattern '${pattern}'`,
  input,
  ctx: { pattern },
});

export const malformedJson = (offset: number, error: string): Entry => ({
  type: 'json_invalid',
  loc: ['body', offset],
  msg: 'JSON decode error',
  input: {},
  ctx: { error },
});
