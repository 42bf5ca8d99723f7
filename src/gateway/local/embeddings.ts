// `local-multilingual-e1` on the OpenAI wire.

import type { EmbedTexts } from '../../core/embed-texts.ts';
import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import type { Json } from '../../core/json.ts';
import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { WholeAnswer } from '../answer.ts';
import { EMBEDDING_TEXT_LENGTH_MAX, EMBEDDING_TEXTS_LENGTH_MAX } from '../limits.ts';
import type { ModelCall } from '../model-call.ts';
import { estimateTokens } from '../usage.ts';
import { invalid } from './echo.ts';

const { id: MODEL, dimensions: DIMENSIONS } = LOCAL_EMBEDDING_MODEL;

/** Throws 400 for an unsupported option, naming the member; 503 when the queue is full. */
export async function embedLocally(
  { endpoint, request, signal }: ModelCall,
  embed: EmbedTexts,
): Promise<WholeAnswer> {
  if (endpoint !== 'embeddings')
    throw new OpenAiRefusal('malformed', `The model ${MODEL} cannot do this`, { param: 'model' });
  const { body } = request;
  const texts = readInput(body['input']);
  const { encoding_format: encoding, dimensions } = body;
  if (dimensions !== undefined && dimensions !== null && dimensions !== DIMENSIONS)
    throw invalid('dimensions', `${MODEL} has ${DIMENSIONS} dimensions, and no others`);
  if (encoding !== undefined && encoding !== null && encoding !== 'float' && encoding !== 'base64')
    throw invalid('encoding_format', "'encoding_format' must be float or base64");
  const vectors = await embed(texts, signal);
  const answer: Uint8Array[] = [];
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (let index = 0; index < texts.length; index++) {
    if (performance.now() > sliceEndsAt) sliceEndsAt = await nextTimeSlice();
    const row = vectors.subarray(index * DIMENSIONS, (index + 1) * DIMENSIONS);
    const before = index === 0 ? '{"object":"list","data":[' : '},';
    answer.push(ascii(`${before}{"object":"embedding","index":${index},"embedding":`));
    answer.push(ascii(encoding === 'base64' ? toBase64(row) : toList(row)));
  }
  const promptTokens = texts.reduce((sum, text) => sum + estimateTokens(Buffer.byteLength(text)), 0);
  const usage = `{"prompt_tokens":${promptTokens},"total_tokens":${promptTokens}}`;
  answer.push(ascii(`}],"model":"${MODEL}","usage":${usage}}`));
  return {
    kind: 'whole',
    status: 200,
    headers: {},
    bytes: Buffer.concat(answer),
    model: MODEL,
    usage: { promptTokens, completionTokens: 0, estimated: false },
  };
}

function readInput(input: Json | undefined): string[] {
  const texts = typeof input === 'string' ? [input] : input;
  if (Array.isArray(texts) && texts.length === 0)
    throw invalid('input', "'input' must hold at least one text");
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
    throw invalid('input', `'input' must be a text or a list of texts: ${MODEL} has no tokens`);
  let length = 0;
  for (const [index, text] of texts.entries()) {
    if (text.length > EMBEDDING_TEXT_LENGTH_MAX)
      throw invalid('input', `'input[${index}]' has more than ${EMBEDDING_TEXT_LENGTH_MAX} characters`);
    length += text.length;
  }
  if (length > EMBEDDING_TEXTS_LENGTH_MAX)
    throw invalid('input', `The texts have more than ${EMBEDDING_TEXTS_LENGTH_MAX} characters together`);
  return texts;
}

const ascii = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/** Nine significant digits give every float32 back (FLT_DECIMAL_DIG). */
const toList = (row: Float32Array): string =>
  JSON.stringify(Array.from(row, (value) => Number(value.toPrecision(9))));

/** Little-endian float32, as every machine that Bun runs on has them. */
const toBase64 = (row: Float32Array): string =>
  `"${Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('base64')}"`;
