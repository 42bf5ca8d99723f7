// What the gateway's operations take and answer, as far as it is ours to say: the rest is OpenAI's.

import { type Static, Type } from '@sinclair/typebox';
import { EMBEDDING_INPUTS_MAX } from './limits.ts';
import { GROUPINGS } from './store/model-usage.ts';

export const NoParameters = Type.Object({});
export const ModelPath = Type.Object({ model_id: Type.String({ description: 'Its name.' }) });
export const WorkspacePath = Type.Object({
  workspace_id: Type.String({ description: 'Workspace that asks.' }),
});

const Open = { additionalProperties: true };

const model = Type.Optional(
  Type.String({ description: "A model of the catalogue; absent: the models file's default." }),
);

export const ChatRequest = Type.Object(
  {
    model,
    messages: Type.Array(Type.Object({ role: Type.String() }, Open)),
    stream: Type.Optional(Type.Boolean()),
  },
  { ...Open, $id: 'ChatCompletionRequest' },
);
export const CompletionRequest = Type.Object(
  { model, prompt: Type.Unknown(), stream: Type.Optional(Type.Boolean()) },
  { ...Open, $id: 'CompletionRequest' },
);
export const ImageRequest = Type.Object({ model, prompt: Type.String() }, { ...Open, $id: 'ImageRequest' });
export const EmbeddingRequest = Type.Object(
  {
    model,
    input: Type.Union([Type.String(), Type.Array(Type.Unknown())]),
    encoding_format: Type.Optional(Type.Union([Type.Literal('float'), Type.Literal('base64')])),
  },
  { ...Open, $id: 'EmbeddingRequest' },
);

export const EmbeddingInSchema = Type.Object(
  {
    input: Type.Array(Type.String(), { minItems: 1, maxItems: EMBEDDING_INPUTS_MAX }),
    model: Type.Optional(
      Type.Unknown({ description: 'An embedding model of the catalogue; absent: its default.' }),
    ),
    encoding_format: Type.Optional(
      Type.Union([Type.Literal('float'), Type.Literal('base64'), Type.Null()], {
        description: '`base64`: float32, little-endian.',
      }),
    ),
    dimensions: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
        description: 'Length of the vectors, of models that have several.',
      }),
    ),
  },
  { ...Open, $id: 'EmbeddingInSchema' },
);

const EmbeddingDataOutSchema = Type.Object(
  {
    object: Type.String(),
    index: Type.Integer(),
    embedding: Type.Union([
      Type.Array(Type.Number()),
      Type.String({ description: 'float32, little-endian, base64' }),
    ]),
  },
  { ...Open, $id: 'EmbeddingDataOutSchema' },
);
export const EmbeddingOutSchema = Type.Object(
  {
    object: Type.String(),
    model: Type.String(),
    data: Type.Array(EmbeddingDataOutSchema),
    usage: Type.Unknown(),
  },
  { ...Open, $id: 'EmbeddingOutSchema' },
);

/** An answer of a model, as OpenAI's own documentation describes it. */
export const ModelAnswer = Type.Object({}, { ...Open, $id: 'ModelAnswer' });

export const ModelRead = Type.Object(
  {
    id: Type.String(),
    object: Type.String(),
    created: Type.Integer(),
    owned_by: Type.String(),
    endpoints: Type.Array(Type.String(), { description: 'What it can do.' }),
    description: Type.Optional(Type.String()),
  },
  { $id: 'Model' },
);
export type ModelRead = Static<typeof ModelRead>;
export const ModelList = Type.Object(
  { object: Type.String(), data: Type.Array(ModelRead) },
  { $id: 'ModelList' },
);

export const ModelUsageQuery = Type.Object({
  from: Type.Optional(
    Type.String({ description: 'Start, cut down to its hour; absent: 30 days before `to`.' }),
  ),
  to: Type.Optional(Type.String({ description: 'End, filled up to its hour; absent: now.' })),
  group_by: Type.Optional(
    Type.Union(
      GROUPINGS.map((each) => Type.Literal(each)),
      { default: 'model', description: 'What to tell apart.' },
    ),
  ),
});

const sums = {
  requests: Type.Integer(),
  estimated: Type.Integer({
    description: 'Requests whose tokens are estimates: the upstream did not tell them.',
  }),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cost: Type.Number({ description: 'By the price table of the models file.' }),
  latency_ms: Type.Union([Type.Number(), Type.Null()], { description: 'Mean, to the last byte.' }),
  first_event_ms: Type.Union([Type.Number(), Type.Null()], { description: 'Mean, of those that streamed.' }),
};
const UsedKey = Type.Object(
  {
    name: Type.String(),
    prefix: Type.String(),
    user_email: Type.Union([Type.String(), Type.Null()], {
      description: 'Null where the person was deleted.',
    }),
  },
  { $id: 'UsedKey' },
);
const ModelUsageSums = Type.Object(sums, { $id: 'ModelUsageSums' });
export type ModelUsageSums = Static<typeof ModelUsageSums>;
export const ModelUsageRead = Type.Object(
  {
    from: Type.String({ format: 'date-time' }),
    to: Type.String({ format: 'date-time' }),
    group_by: Type.String(),
    items: Type.Array(
      Type.Object({
        group: Type.String(),
        key: Type.Optional(
          Type.Union([UsedKey, Type.Null()], {
            description: 'With `group_by=key`: what people know the key by; null where nobody sent one.',
          }),
        ),
        ...sums,
      }),
    ),
    total: ModelUsageSums,
  },
  { $id: 'ModelUsage' },
);
export type ModelUsageRead = Static<typeof ModelUsageRead>;
