// The shapes of models' answers, as far as all upstreams share them: other members pass, and these may be absent.

import { type TSchema, Type } from '@sinclair/typebox';
import { openComponent, optional, text } from '../http/schemas.ts';

const Open = { additionalProperties: true };
const maybeText = (description: string) => Type.Optional(text(description));
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

const Usage = openComponent('CompletionUsage', 'What the answer has used.', {
  prompt_tokens: count('Tokens of the request.'),
  completion_tokens: count('Tokens of the answer.'),
  total_tokens: count('Tokens of both.'),
});

const head = {
  id: maybeText('The identifier of the answer.'),
  object: maybeText('The kind of the answer.'),
  created: Type.Optional(Type.Number({ description: 'When it was made, in seconds since 1970.' })),
  model: maybeText('The model that has answered, as the upstream calls it.'),
  usage: optional(Usage, 'What the answer has used.'),
};
const finishReason = optional(
  Type.String(),
  'Why the answer ends: `stop`, `length`, `tool_calls` or `content_filter`.',
);
const logprobs = optional(Type.Unknown(), 'Probabilities of the tokens, where they were asked for.');
const index = count('The place of the choice in the list.');

const Message = openComponent('ChatCompletionMessage', 'A message that a model has written.', {
  role: maybeText('Who speaks: `assistant`.'),
  content: optional(Type.String(), 'The text of the answer; null where tools are called.'),
  refusal: optional(Type.String(), 'Why the model does not answer.'),
  tool_calls: optional(Type.Array(Type.Object({}, Open)), 'Calls of tools that the model asks for.'),
});

export const ChatCompletion = openComponent('ChatCompletion', 'The answer to a conversation.', {
  ...head,
  choices: Type.Array(Type.Object({ index, message: Message, finish_reason: finishReason, logprobs }, Open), {
    description: 'The answers: one, unless more were asked for with `n`.',
  }),
});

export const Completion = openComponent('Completion', 'The continuation of a text.', {
  ...head,
  choices: Type.Array(
    Type.Object({ index, text: text('The text.'), finish_reason: finishReason, logprobs }, Open),
    { description: 'The continuations: one, unless more were asked for with `n`.' },
  ),
});

export const ImageList = openComponent('ImageList', 'Images that a model has made.', {
  created: Type.Optional(Type.Number({ description: 'When they were made, in seconds since 1970.' })),
  data: Type.Array(
    Type.Object(
      {
        url: optional(Type.String(), 'Where the image is, for a while.'),
        b64_json: optional(Type.String(), 'The image itself, in base64.'),
        revised_prompt: optional(Type.String(), 'What the model has made of the prompt.'),
      },
      Open,
    ),
    { description: 'The images: each has a URL or holds the image itself.' },
  ),
});

const vectorOf = (description: string) =>
  openComponent('EmbeddingDataOutSchema', description, {
    object: text('`embedding`.'),
    index: Type.Integer({ minimum: 0, description: 'The place of the text in `input`.' }),
    embedding: Type.Union(
      [Type.Array(Type.Number()), text('With `encoding_format: base64`: float32, little-endian.')],
      { description: 'The vector.' },
    ),
  });

/** `model` as the operation names it. */
const embeddingsOf = (model: TSchema, $id: string) =>
  openComponent($id, 'The vectors of texts.', {
    object: text('`list`.'),
    model,
    data: Type.Array(vectorOf('The vector of one text.'), {
      description: 'A vector for each text, in the order of `input`.',
    }),
    usage: Type.Unknown({ description: 'How many tokens the texts have.' }),
  });

/** Of the workspace's route, which names a model of the catalogue. */
export const embeddingOut = (modelEnum: TSchema) => embeddingsOf(modelEnum, 'EmbeddingOutSchema');

/** The shape of OpenAI's route, which returns the upstream's name of the model. */
export const EmbeddingList = embeddingsOf(
  text('The model that has answered, as the upstream calls it.'),
  'EmbeddingList',
);
