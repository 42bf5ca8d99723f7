// The shapes of models' answers, as far as all upstreams share them: other members pass, and these may be absent.

import { type TSchema, Type } from '@sinclair/typebox';

const Open = { additionalProperties: true };
const nullable = <S extends TSchema>(schema: S, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }));
const text = (description: string) => Type.Optional(Type.String({ description }));
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

const Usage = Type.Object(
  {
    prompt_tokens: count('Tokens of the request.'),
    completion_tokens: count('Tokens of the answer.'),
    total_tokens: count('Tokens of both.'),
  },
  { ...Open, $id: 'CompletionUsage', description: 'What the answer has used.' },
);

const head = {
  id: text('The identifier of the answer.'),
  object: text('The kind of the answer.'),
  created: Type.Optional(Type.Number({ description: 'When it was made, in seconds since 1970.' })),
  model: text('The model that has answered, as the upstream calls it.'),
  usage: nullable(Usage, 'What the answer has used.'),
};
const finishReason = nullable(
  Type.String(),
  'Why the answer ends: `stop`, `length`, `tool_calls` or `content_filter`.',
);
const logprobs = nullable(Type.Unknown(), 'Probabilities of the tokens, where they were asked for.');
const index = count('The place of the choice in the list.');

const Message = Type.Object(
  {
    role: text('Who speaks: `assistant`.'),
    content: nullable(Type.String(), 'The text of the answer; null where tools are called.'),
    refusal: nullable(Type.String(), 'Why the model does not answer.'),
    tool_calls: nullable(Type.Array(Type.Object({}, Open)), 'Calls of tools that the model asks for.'),
  },
  { ...Open, $id: 'ChatCompletionMessage', description: 'A message that a model has written.' },
);

export const ChatCompletion = Type.Object(
  {
    ...head,
    choices: Type.Array(
      Type.Object({ index, message: Message, finish_reason: finishReason, logprobs }, Open),
      { description: 'The answers: one, unless more were asked for with `n`.' },
    ),
  },
  { ...Open, $id: 'ChatCompletion', description: 'The answer to a conversation.' },
);

export const Completion = Type.Object(
  {
    ...head,
    choices: Type.Array(
      Type.Object(
        { index, text: Type.String({ description: 'The text.' }), finish_reason: finishReason, logprobs },
        Open,
      ),
      { description: 'The continuations: one, unless more were asked for with `n`.' },
    ),
  },
  { ...Open, $id: 'Completion', description: 'The continuation of a text.' },
);

export const ImageList = Type.Object(
  {
    created: Type.Optional(Type.Number({ description: 'When they were made, in seconds since 1970.' })),
    data: Type.Array(
      Type.Object(
        {
          url: nullable(Type.String(), 'Where the image is, for a while.'),
          b64_json: nullable(Type.String(), 'The image itself, in base64.'),
          revised_prompt: nullable(Type.String(), 'What the model has made of the prompt.'),
        },
        Open,
      ),
      { description: 'The images: each has a URL or holds the image itself.' },
    ),
  },
  { ...Open, $id: 'ImageList', description: 'Images that a model has made.' },
);

const vectorOf = (description: string) =>
  Type.Object(
    {
      object: Type.String({ description: '`embedding`.' }),
      index: Type.Integer({ minimum: 0, description: 'The place of the text in `input`.' }),
      embedding: Type.Union(
        [
          Type.Array(Type.Number()),
          Type.String({ description: 'With `encoding_format: base64`: float32, little-endian.' }),
        ],
        { description: 'The vector.' },
      ),
    },
    { ...Open, $id: 'EmbeddingDataOutSchema', description },
  );

/** `model` as the operation names it. */
const embeddingsOf = (model: TSchema, $id: string) =>
  Type.Object(
    {
      object: Type.String({ description: '`list`.' }),
      model,
      data: Type.Array(vectorOf('The vector of one text.'), {
        description: 'A vector for each text, in the order of `input`.',
      }),
      usage: Type.Unknown({ description: 'How many tokens the texts have.' }),
    },
    { ...Open, $id, description: 'The vectors of texts.' },
  );

/** Of the workspace's route, which names a model of the catalogue. */
export const embeddingOut = (modelEnum: TSchema) => embeddingsOf(modelEnum, 'EmbeddingOutSchema');

/** The shape of OpenAI's route, which returns the upstream's name of the model. */
export const EmbeddingList = embeddingsOf(
  Type.String({ description: 'The model that has answered, as the upstream calls it.' }),
  'EmbeddingList',
);
