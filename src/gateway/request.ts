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

  /** All members of this name, in any case, as some servers read them. */
  all(name: string): Json[] {
    const { body } = this;
    const names = Object.keys(body).filter((each) => each === name || each.toLowerCase() === name);
    return names.map((each) => body[each] ?? null);
  }

  /** The same request with another value of the member. */
  with(name: string, value: Json): GatewayRequest {
    return new GatewayRequest({ ...this.body, [name]: value });
  }
}

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

/** The number of texts in a member: those of a list, else one; a list of numbers is one text of tokens. */
export function countTexts({ body }: GatewayRequest, name: string): number {
  const value = body[name];
  return Array.isArray(value) && typeof value[0] !== 'number' ? Math.max(1, value.length) : 1;
}

/** NaN for what is no number. A number of more digits than a double holds is kept as its text. */
export const toNumber = (value: Json): number =>
  typeof value === 'number' ? value : isRawNumber(value) ? Number(value.rawJSON) : Number.NaN;
