// The words that schemas are made of, and the answers that every area shares.

import {
  type ObjectOptions,
  type SchemaOptions,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';

/** Where a schema of a route keeps the `BodySpec` or `ResponseSpec` that it was made from (input.ts). */
export const SPEC = Symbol('spec');

/** The body of a route, as the document describes it. */
export type BodySpec = {
  contents: Record<string, { schema: TSchema; example?: unknown }>;
  isOptional: boolean;
};

/** One documented answer: its meaning, and the schema of its JSON body (none: no body). */
export type ResponseSpec = {
  description: string;
  schema?: TSchema;
  /** A function where it depends on what is configured; it is called whenever the document is made. */
  example?: unknown;
  /** Of a body that is text, instead of or beside JSON. */
  mediaType?: string | readonly string[];
  /** An example of the server-sent events that the body is where the caller asks for them. */
  stream?: string;
};

export type Responses = Record<number, ResponseSpec>;

/** An object that the OpenAPI document names. */
export const component = <Fields extends TProperties>(
  $id: string,
  description: string,
  fields: Fields,
  options: ObjectOptions = {},
) => Type.Object(fields, { ...options, $id, description });

/** A component that may have other members, too. */
export const openComponent = <Fields extends TProperties>($id: string, description: string, fields: Fields) =>
  Type.Object(fields, { $id, description, additionalProperties: true });

export const text = (description: string) => Type.String({ description });
export const integer = (description: string) => Type.Integer({ description });
export const flag = (description: string) => Type.Boolean({ description });
export const moment = (description: string) => Type.String({ format: 'date-time', description });
/** A choice of words. Its type is stated, because Elysia's types read unions of tuples alone. */
export const oneOf = <const Word extends string>(words: readonly Word[], options: SchemaOptions = {}) =>
  Type.Union(
    words.map((word) => Type.Literal(word)),
    options,
  ) as unknown as TUnsafe<Word>;

/** A schema that is used in several places, with its description in this one. Not for schemas that are components. */
export const described = <S extends TSchema>(schema: S, description: string): S => ({
  ...schema,
  description,
});

export const nullable = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** A member that may be absent, or null, which means the same. */
export const optional = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(nullable(schema, description));

export const Moment = Type.String({ format: 'date-time' });

/** Path parameters of the operations that administer a workspace. */
export const WorkspacePath = Type.Object({
  workspace_id: Type.String({ description: 'Workspace that is administered.' }),
});

export const ErrorDetail = Type.Object(
  {
    detail: Type.String({
      description: 'What was refused and why, in one sentence.',
      examples: ['The API key is unknown, expired or revoked'],
    }),
  },
  { $id: 'ErrorDetail', description: 'A refusal.' },
);

const ValidationError = Type.Object(
  {
    type: Type.String({ description: 'The kind of the mistake, for programs.' }),
    loc: described(
      Type.Array(Type.Union([Type.String(), Type.Integer()])),
      'Where the mistake is: `path`, `query`, `header` or `body`, and the way from there.',
    ),
    msg: Type.String({ description: 'The mistake, in words.' }),
    input: Type.Unknown({ description: 'What was sent there.' }),
    ctx: Type.Optional(
      described(Type.Record(Type.String(), Type.Unknown()), 'What the value was held against.'),
    ),
  },
  { $id: 'ValidationError', description: 'One mistake of a request.' },
);

export const HTTPValidationError = Type.Object(
  { detail: Type.Array(ValidationError, { description: 'Every mistake of the request.' }) },
  {
    $id: 'HTTPValidationError',
    description: 'A request that fails validation.',
    examples: [
      {
        detail: [
          {
            type: 'int_parsing',
            loc: ['query', 'size'],
            msg: 'Input should be a valid integer, unable to parse string as an integer',
            input: 'many',
          },
        ],
      },
    ],
  },
);

/** The refusals that have the same meaning in all areas. */
const ERRORS = {
  400: 'The request is malformed.',
  401: 'The credential is absent, unknown, expired or revoked.',
  403: 'The credential is valid, but not for this.',
  404: 'There is no such thing, or the caller may not know of it.',
  408: 'The body did not arrive in time.',
  409: 'Something of that name exists, or the present state does not allow it.',
  410: 'The cursor is of no use any more; begin anew without one.',
  413: 'The body is too large.',
  415: 'The body is of another media type.',
  422: 'The request fails validation; the answer lists every mistake.',
  429: 'Too many requests.',
  502: 'A model failed.',
  503: 'A backing service is not available; a retry makes sense after `Retry-After` seconds.',
  504: 'A model did not answer in time.',
} as const;

export type RefusalStatus = keyof typeof ERRORS;

/** The answers of an operation together with the refusals of these statuses. */
export function withErrors(own: Responses, statuses: readonly RefusalStatus[]): Responses {
  const refusals = statuses.map((status) => {
    const schema = status === 422 ? HTTPValidationError : ErrorDetail;
    return [status, { description: ERRORS[status], schema }] as const;
  });
  return { ...Object.fromEntries(refusals), ...own };
}
