// Embeddings, images and models as OpenAI answers them.

import { openAiError } from './openai-chat.ts';
import { type Body, countWords, nowSeconds, type Reply, type Wire } from './wire.ts';

const DIMENSIONS = 8;

/** Always the same for a text (or its tokens), and of unit length. */
export function vectorOf(input: unknown, dimensions: number): number[] {
  let state = Bun.hash.crc32(JSON.stringify(input)) || 1;
  const values = Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  const length = Math.hypot(...values);
  return values.map((value) => Math.fround(value / length));
}

/** One text or list of tokens, or a list of them. */
function inputsOf(input: unknown): unknown[] {
  if (!Array.isArray(input)) return [input];
  return typeof input[0] === 'number' ? [input] : input;
}

const base64Of = (vector: number[]): string =>
  Buffer.from(new Float32Array(vector).buffer).toString('base64');

const whole = (answer: Body): Reply => ({ whole: answer, events: [], errorEvent: '' });

export const inputCount = (body: Body): number => inputsOf(body['input']).length;

export const embeddings: Wire = {
  refuse: ({ input }) =>
    input === undefined || (Array.isArray(input) && input.length === 0)
      ? { status: 400, message: "'$.input' is invalid.", param: 'input' }
      : undefined,
  error: openAiError,
  reply(body, { model }) {
    const dimensions = typeof body['dimensions'] === 'number' ? body['dimensions'] : DIMENSIONS;
    const inputs = inputsOf(body['input']);
    const tokens = inputs.reduce((sum: number, input) => sum + tokensIn(input), 0);
    return whole({
      object: 'list',
      data: inputs.map((input, index) => {
        const vector = vectorOf(input, dimensions);
        const embedding = body['encoding_format'] === 'base64' ? base64Of(vector) : vector;
        return { object: 'embedding', index, embedding };
      }),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
  },
};

const tokensIn = (input: unknown): number =>
  Array.isArray(input) ? input.length : countWords(String(input));

/** The smallest PNG there is. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const images: Wire = {
  refuse: ({ prompt }) =>
    typeof prompt === 'string'
      ? undefined
      : { status: 400, message: "Missing required parameter: 'prompt'.", param: 'prompt' },
  error: openAiError,
  reply(body) {
    const count = typeof body['n'] === 'number' ? body['n'] : 1;
    const image =
      body['response_format'] === 'url' ? { url: 'https://images.example/1.png' } : { b64_json: PIXEL };
    return whole({
      created: nowSeconds(),
      data: Array.from({ length: count }, () => ({ ...image, revised_prompt: body['prompt'] })),
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
    });
  },
};

const MODELS = ['ok', 'gpt-mock', 'status-429', 'text-embedding-mock'];

const modelOf = (id: string): Body => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'mock' });

/** Undefined for one that is not listed. */
export const findModel = (id: string): Body | undefined => (MODELS.includes(id) ? modelOf(id) : undefined);

export const modelList = (): Body => ({ object: 'list', data: MODELS.map(modelOf) });
