// What routes take and answer, as schemas that Elysia asks through Standard Schema (https://standardschema.dev): the checks are
// ours, so that one 422 lists every mistake with its location. `~standard` is not enumerable: whoever copies a schema as JSON does not
// see it.

import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { ValidationFailure } from '../core/errors.ts';
import { readBody } from './body.ts';
import { readDecodedBody } from './inflate.ts';
import { JSON_BODY_BYTES_MAX } from './limits.ts';
import { type RefusalStatus, type ResponseSpec, type Responses, withErrors } from './schemas.ts';
import { createValidator, toJsonBody } from './validation.ts';

/** The body of a route, as the document describes it. */
export type BodySpec = {
  contents: Record<string, { schema: TSchema; example?: unknown }>;
  isOptional: boolean;
};

const bodies = new WeakMap<object, BodySpec>();
const described = new WeakMap<object, ResponseSpec>();

/** What a route's `body` and the entries of its `response` were made from; undefined for other schemas. */
export const bodySpecOf = (schema: object): BodySpec | undefined => bodies.get(schema);
export const answerSpecOf = (schema: object): ResponseSpec | undefined => described.get(schema);

type Validate = (value: unknown) => { value: unknown } | Promise<{ value: unknown }>;

function withStandard<S extends TSchema>(schema: S, validate: Validate): S {
  return Object.defineProperty({ ...schema }, '~standard', {
    value: { version: 1, vendor: 'atrium', validate },
  });
}

const asItIs: Validate = (value) => ({ value });

/** Whether a schema was made here, so that Elysia does not check it by its own rules. */
export const isOurs = (schema: object): boolean => '~standard' in schema;

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
  const made = withStandard(schema, async (request) => {
    const sent = await toJsonBody(request as Request, await readBody(request as Request, bytesMax), {
      absent,
    });
    const { value, entries } = check(sent, ['body']);
    if (entries.length > 0) throw new ValidationFailure(entries);
    return { value };
  });
  bodies.set(made, { contents: { 'application/json': { schema, example } }, isOptional: optional });
  return made;
}

/** A body that the operation parses itself, by media type; `inflates`: it may be compressed with gzip. Throws 408, 413, 415 and 503. */
export function bytes(
  contents: BodySpec['contents'],
  { bytesMax = JSON_BODY_BYTES_MAX, inflates = false }: { bytesMax?: number; inflates?: boolean } = {},
) {
  const read = inflates ? readDecodedBody : readBody;
  const made = withStandard(Type.Unsafe<Uint8Array>(), async (request) => ({
    value: await read(request as Request, bytesMax),
  }));
  bodies.set(made, { contents, isOptional: false });
  return made;
}

/** One documented answer. What a handler returns is not checked again. */
export function answer<S extends TSchema>(spec: ResponseSpec & { schema: S }): S;
export function answer(spec: ResponseSpec): TSchema;
export function answer(spec: ResponseSpec): TSchema {
  const made = withStandard(spec.schema ?? Type.Unknown(), asItIs);
  described.set(made, spec);
  return made;
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
