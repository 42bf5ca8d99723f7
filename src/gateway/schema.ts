// The input and output of the gateway's operations, as far as the gateway defines them: the rest is OpenAI's.

import { Kind, type Static, type TSchema, Type } from '@sinclair/typebox';
import { component, flag, integer, moment, nullable, oneOf, openComponent, text } from '../http/schemas.ts';
import { EMBEDDING_INPUTS_MAX } from './limits.ts';
import { GROUPINGS } from './store/model-usage.ts';

export const ModelPath = Type.Object({ model_id: text('The name of the model, slashes included.') });
export const WorkspacePath = Type.Object({ workspace_id: text('The workspace of the key.') });

const Open = { additionalProperties: true };

const model = Type.Optional(text("A model of the catalogue; absent: the models file's default."));
const stream = Type.Optional(flag('Whether the answer comes as server-sent events, as it is made.'));

export const ChatRequest = openComponent(
  'ChatCompletionRequest',
  'A conversation that a model is to answer.',
  {
    model,
    messages: Type.Array(
      Type.Object({ role: text('Who speaks: `system`, `user`, `assistant` or `tool`.') }, Open),
      { description: 'The conversation so far, the oldest message first.' },
    ),
    stream,
  },
);
export const CompletionRequest = openComponent('CompletionRequest', 'A text that a model is to continue.', {
  model,
  prompt: Type.Unknown({ description: 'A text, a list of texts, or tokens, to be continued.' }),
  stream,
});
export const ImageRequest = openComponent('ImageRequest', 'Images that a model is to make.', {
  model,
  prompt: text('What the images show.'),
});
export const EmbeddingRequest = openComponent(
  'EmbeddingRequest',
  'Texts that a model is to turn into vectors.',
  {
    model,
    input: Type.Union([Type.String(), Type.Array(Type.Unknown())], {
      description: 'A text, a list of texts, or tokens.',
    }),
    encoding_format: Type.Optional(
      oneOf(['float', 'base64'], { description: '`base64`: float32, little-endian.' }),
    ),
  },
);

/** The models that currently support an endpoint, and the default for requests that name none. */
export type Choice = { ids: readonly string[]; fallback: string | undefined };

/** The interface's ModelEnum: the embedding models at the time when the document is requested. */
export const modelEnum = (present: () => Choice) =>
  Type.Unsafe<unknown>({
    [Kind]: 'Unknown',
    $id: 'ModelEnum',
    type: 'string',
    description: 'An embedding model of the catalogue; absent: its default.',
    present: () => {
      const { ids, fallback } = present();
      return {
        ...(ids.length === 0 ? {} : { enum: ids }),
        ...(fallback === undefined ? {} : { default: fallback }),
      };
    },
  });

/** `model` as the document has it; the operation looks at it by itself, for the catalogue changes. */
export const embeddingIn = (model: TSchema) =>
  openComponent('EmbeddingInSchema', 'Texts to turn into vectors.', {
    input: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: EMBEDDING_INPUTS_MAX,
      description: 'The texts to turn into vectors.',
    }),
    model: Type.Optional(model),
    encoding_format: Type.Optional(
      Type.Union([Type.Literal('float'), Type.Literal('base64'), Type.Null()], {
        description: '`base64`: float32, little-endian.',
      }),
    ),
    dimensions: Type.Optional(
      nullable(Type.Integer({ minimum: 1 }), 'Length of the vectors, of models that have several.'),
    ),
  });

export const ModelRead = component('Model', 'A model that can be asked.', {
  id: text('What requests name the model by.'),
  object: text('`model`.'),
  created: integer('When it was made, in seconds since 1970; 0 where nobody knows.'),
  owned_by: text('Whose model it is.'),
  endpoints: Type.Array(Type.String(), { description: 'What it can do.' }),
  description: Type.Optional(text('What the models file says about it.')),
});
export type ModelRead = Static<typeof ModelRead>;
export const ModelList = component('ModelList', 'The models that can be asked.', {
  object: text('`list`.'),
  data: Type.Array(ModelRead, { description: 'The models, in the order of the models file.' }),
});

export const ModelUsageQuery = Type.Object(
  {
    from: Type.Optional(text('Start, cut down to its hour; absent: 30 days before `to`.')),
    to: Type.Optional(text('End, filled up to its hour; absent: now.')),
    group_by: Type.Optional(
      oneOf([...GROUPINGS, 'person'], {
        default: 'model',
        description: 'What to tell apart. A person is the one whose keys were used.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const OwnUsageQuery = Type.Object(
  {
    from: Type.Optional(text('Start, cut down to its hour; absent: the month of `to`, in UTC.')),
    to: ModelUsageQuery.properties.to,
    group_by: Type.Optional(
      oneOf(['model', 'day'], { default: 'model', description: 'What to tell apart; days are in UTC.' }),
    ),
  },
  { additionalProperties: false },
);

/** Exact to a factor of 1.41. */
const percentile = (description: string) => nullable(Type.Number(), description);
const sums = {
  requests: integer('How many requests there were.'),
  errors: integer('Requests that failed, or that were refused for a mistake in them.'),
  estimated: integer('Requests whose tokens are estimates: the upstream did not tell them.'),
  prompt_tokens: integer('Tokens of the requests.'),
  completion_tokens: integer('Tokens of the answers.'),
  total_tokens: integer('Tokens of both.'),
  cost: Type.Number({ description: 'By the price table of the models file.' }),
  latency_ms: nullable(Type.Number(), 'Mean, to the last byte.'),
  latency_p50_ms: percentile('Half of the requests took no longer.'),
  latency_p95_ms: percentile('Of 20 requests 19 took no longer.'),
  latency_p99_ms: percentile('Of 100 requests 99 took no longer.'),
  first_event_ms: nullable(Type.Number(), 'Mean, of those that streamed.'),
  first_event_p50_ms: percentile('Likewise, to the first event of those that streamed.'),
  first_event_p95_ms: percentile('Likewise.'),
  first_event_p99_ms: percentile('Likewise.'),
};
const UsedKey = component('UsedKey', 'What people know a key by.', {
  name: text('The name of the key.'),
  prefix: text('The first characters of the key.'),
  user_email: nullable(Type.String(), 'Null where the person was deleted.'),
});
const ModelUsageSums = component('ModelUsageSums', 'Sums over requests.', sums);
export type ModelUsageSums = Static<typeof ModelUsageSums>;
export const ModelUsageRead = component('ModelUsage', 'What models were used for.', {
  from: moment('The start of what is summed.'),
  to: moment('The end of what is summed.'),
  group_by: text('What is told apart.'),
  items: Type.Array(
    Type.Object({
      group: text('The model, key, person (e-mail) or other thing that these sums are of; empty: of no one.'),
      key: Type.Optional(
        nullable(UsedKey, 'With `group_by=key`: what people know the key by; null where nobody sent one.'),
      ),
      ...sums,
    }),
    { description: 'The sums of each group.' },
  ),
  total: ModelUsageSums,
});
export type ModelUsageRead = Static<typeof ModelUsageRead>;
