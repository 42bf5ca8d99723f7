// What routes take and answer, as schemas that Elysia asks through Standard Schema (https://standardschema.dev): the checks are
// ours, so that one 422 lists every mistake with its location. `~standard` is not enumerable: whoever copies a schema as JSON does not
// see it.

import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { ValidationFailure } from '../core/errors.ts';
import { readBody, readDecodedBody } from './body.ts';
import { JSON_BODY_BYTES_MAX } from './limits.ts';
import {
  type BodySpec,
  type RefusalStatus,
  type ResponseSpec,
  type Responses,
  SPEC,
  withErrors,
} from './schemas.ts';
import { stateOf } from './state.ts';
import { createValidator, toJsonBody } from './validation.ts';

type Validate = (value: unknown) => { value: unknown } | Promise<{ value: unknown }>;

/** A copy of the schema that Elysia asks `validate`; `spec`: what the document says of it (schemas.ts). */
const withStandard = <S extends TSchema>(schema: S, validate: Validate, spec?: BodySpec | ResponseSpec): S =>
  Object.defineProperties(
    { ...schema },
    { '~standard': { value: { version: 1, vendor: 'atrium', validate } }, [SPEC]: { value: spec } },
  );

const asItIs: Validate = (value) => ({ value });

/** Path parameters, or a query: read from the URL and checked before Elysia asks (requests.ts). */
export const parameters = <S extends TObject>(schema: S): S => withStandard(schema, asItIs);

/**
 * A JSON body. `optional`: an absent one stands for `{}`. Elysia hands over the request: the body is read only after everything else
 * was checked. Throws 408, 413, 415, 503 and ValidationFailure.
 */
export function json<S extends TSchema>(
  schema: S,
  {
    bytesMax = JSON_BODY_BYTES_MAX,
    example,
    optional = false,
  }: { bytesMax?: number; example?: unknown; optional?: boolean } = {},
): S {
  const check = createValidator(schema);
  const absent = optional ? {} : undefined;
  const validate: Validate = async (given) => {
    const request = given as Request;
    const sent = await readBody(request, stateOf(request), bytesMax);
    const { value, entries } = check(await toJsonBody(request, sent, { absent }), ['body']);
    if (entries.length > 0) throw new ValidationFailure(entries);
    return { value };
  };
  const contents = { 'application/json': { schema, example } };
  return withStandard(schema, validate, { contents, isOptional: optional });
}

/** A body that the operation parses itself, by media type; `inflates`: it may be compressed with gzip. Throws 408, 413, 415 and 503. */
export function bytes(
  contents: BodySpec['contents'],
  { bytesMax = JSON_BODY_BYTES_MAX, inflates = false }: { bytesMax?: number; inflates?: boolean } = {},
) {
  const read = inflates ? readDecodedBody : readBody;
  const validate: Validate = async (given) => ({
    value: await read(given as Request, stateOf(given as Request), bytesMax),
  });
  return withStandard(Type.Unsafe<Uint8Array>(), validate, { contents, isOptional: false });
}

/** One documented answer. What a handler returns is not checked again. */
export function answer<S extends TSchema>(spec: ResponseSpec & { schema: S }): S;
export function answer(spec: ResponseSpec): TSchema;
export function answer(spec: ResponseSpec): TSchema {
  return withStandard(spec.schema ?? Type.Unknown(), asItIs, spec);
}

type Answers<Specs extends Responses> = {
  [Status in keyof Specs]: Specs[Status] extends { schema: infer S extends TSchema } ? S : TSchema;
};

/** Answers that several routes share. */
export const answers = <const Specs extends Responses>(specs: Specs): Answers<Specs> =>
  Object.fromEntries(Object.entries(specs).map(([status, spec]) => [status, answer(spec)])) as Answers<Specs>;

/** Refusals with these statuses, with the meaning that they have in all areas. */
export const refusals = <const Status extends RefusalStatus>(...statuses: readonly Status[]) =>
  Object.fromEntries(
    Object.entries(withErrors({}, statuses)).map(([status, spec]) => [status, answer(spec)]),
  ) as unknown as Record<Status, TSchema>;
