// The body of a model call: parsed once, changed as an object, and serialised for the upstream.

import {
  isObject,
  isRawNumber,
  type Json,
  type JsonObject,
  NO_LIMITS,
  parseJsonWithin,
} from '../core/json.ts';
import { EXACT_VALUES_MAX, JsonMistake, type JsonMistakeKind } from '../core/json-mistake.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { BODY_LIMITS, MODEL_LENGTH_MAX } from './limits.ts';

export type Endpoint = 'chat' | 'completions' | 'embeddings' | 'images';

/** Whether the answers are texts, whose tokens count. */
export const isText = (endpoint: Endpoint): boolean => endpoint === 'chat' || endpoint === 'completions';

/** The numbers that a reservation goes by. */
const COUNTS = ['n', 'best_of', 'max_tokens', 'max_completion_tokens'] as const;

export class GatewayRequest {
  readonly body: JsonObject;
  private readonly bytes: number | undefined;

  /** `bytes`: the size of the body as it came; absent: that of its JSON. */
  constructor(body: JsonObject, bytes?: number) {
    this.body = body;
    this.bytes = bytes;
  }

  /** The caller's name of the model; undefined: the default. */
  get model(): string | undefined {
    return this.body['model'] as string | undefined;
  }

  get stream(): boolean {
    return this.body['stream'] === true;
  }

  /** Whether the caller asks for the usage within the stream. */
  get includesUsage(): boolean {
    const options = this.stream ? this.body['stream_options'] : undefined;
    return isObject(options) && options['include_usage'] === true;
  }

  get sizeBytes(): number {
    return this.bytes ?? Buffer.byteLength(JSON.stringify(this.body));
  }

  /** The numbers of this name in any case, as some servers read them: an upstream may use either. */
  counts(name: (typeof COUNTS)[number]): number[] {
    return this.named(name).map(toNumber).filter(Number.isFinite).map(Math.ceil);
  }

  /** Throws 400 for a count that is no number: some upstreams understand `"50"` and `true`, and would do more than was reserved. */
  checkCounts(): void {
    for (const name of COUNTS)
      for (const value of this.named(name))
        if (value !== null && !Number.isFinite(toNumber(value)))
          throw new OpenAiRefusal('malformed', `'${name}' must be a number`, {
            param: name,
            code: 'invalid_value',
          });
  }

  /** The number of texts in a member: those of a list, else one; a list of numbers is one text of tokens. */
  countTexts(name: 'input' | 'prompt'): number {
    const value = this.body[name];
    return Array.isArray(value) && typeof value[0] !== 'number' ? Math.max(1, value.length) : 1;
  }

  /** The choices, or pictures, that the answer is to have: each prompt of a list is answered. */
  countChoices(endpoint: Endpoint): number {
    return Math.max(1, ...this.counts('n')) * (endpoint === 'completions' ? this.countTexts('prompt') : 1);
  }

  private named(name: string): Json[] {
    const found: Json[] = [];
    for (const each in this.body)
      if (each === name || (each.length === name.length && each.toLowerCase() === name))
        found.push(this.body[each] ?? null);
    return found;
  }
}

const toNumber = (value: Json): number =>
  typeof value === 'number' ? value : isRawNumber(value) ? Number(value.rawJSON) : Number.NaN;

const invalid = (sentence: string, param?: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, param === undefined ? {} : { param });

const MISTAKES: Record<JsonMistakeKind, string> = {
  syntax: 'The body is not valid JSON',
  number: 'The body is not valid JSON',
  nesting: 'The body is nested too deeply',
  values: `The body holds more than ${BODY_LIMITS.valuesMax} values`,
  digits: `The body holds a number of more digits than a double keeps, and more than ${EXACT_VALUES_MAX} values`,
};

/**
 * Parses a body. Numbers that a double would round keep their text. Of two members of one name the last one counts, and is
 * sent. Throws 400 (OpenAI's shape) for a body that is not a JSON object within the limits, and as `toRequest` does.
 */
export async function readRequest(bytes: Uint8Array): Promise<GatewayRequest> {
  let body: unknown;
  try {
    body = await parseJsonWithin(utf8.decode(bytes), { ...BODY_LIMITS, anyNumber: true });
  } catch (error) {
    throw invalid(MISTAKES[error instanceof JsonMistake ? error.kind : 'syntax']);
  }
  if (!isObject(body)) throw invalid('The body must be a JSON object');
  return toRequest(body, bytes.length);
}

/** Throws 400 for too many members, and for a `model` or `stream` of another type. */
export function toRequest(body: JsonObject, sizeBytes?: number): GatewayRequest {
  if (Object.keys(body).length > BODY_LIMITS.membersMax)
    throw invalid(`The body has more than ${BODY_LIMITS.membersMax} members`);
  const { model, stream = null } = body;
  if (model !== undefined && typeof model !== 'string') throw invalid("'model' must be a string", 'model');
  if (model !== undefined && model.length > MODEL_LENGTH_MAX) throw invalid("'model' is too large", 'model');
  if (stream !== null && typeof stream !== 'boolean') throw invalid("'stream' must be a boolean", 'stream');
  return new GatewayRequest(body, sizeBytes);
}

// A byte order mark is no JSON (RFC 8259, 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A whole answer of an upstream, parsed in time slices. Throws where it is no JSON object. */
export async function parseAnswer(bytes: Uint8Array): Promise<JsonObject> {
  const answer = await parseJsonWithin(utf8.decode(bytes), NO_LIMITS);
  if (!isObject(answer)) throw new Error('the answer is no JSON object');
  return answer;
}
