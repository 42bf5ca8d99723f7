// The body of a model call. One that came as bytes is understood no further than needed, and changed by splicing. A
// caller in this process has an object: it is written only for an upstream.

import { type Json, type JsonObject, NO_LIMITS, parseJson, parseJsonWithin } from '../core/json.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Endpoint } from './adapters/adapter.ts';
import { MODEL_BYTES_MAX, REQUEST_LIMITS, SMALL_MEMBER_BYTES_MAX } from './limits.ts';
import { countItems, decodeString, type Members, type ScanRefusal, scanObject, skipBlank } from './scan.ts';

export type GatewayRequest = {
  /** As they came; those of an object, and the places of its members, are made when they are needed. */
  readonly bytes: Uint8Array;
  readonly members: Members;
  /** The object, where the request came as one. */
  readonly body?: JsonObject;
  /** As the caller wrote it; undefined where it is absent. */
  model: string | undefined;
  stream: boolean;
};

// A byte order mark is no JSON (RFC 8259, 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const QUOTE = 0x22;

const invalid = (sentence: string, param?: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, param === undefined ? {} : { param });

const tooLargeMember = (name: string): OpenAiRefusal => invalid(`'${name}' is too large`, name);

/**
 * Finds the members that the gateway uses. Throws 400 (OpenAI's shape) for a body that is not a JSON object, for a
 * `model` or `stream` of another type, and for a duplicate of one: an upstream might use the other.
 */
export function readRequest(bytes: Uint8Array): GatewayRequest {
  const members = scanObject(bytes, REQUEST_LIMITS);
  if (typeof members === 'string') throw invalid(explainRefusal(members, bytes));
  let model: string | undefined;
  let stream = false;
  let seen = 0;
  for (let index = 0; index < members.names.length; index++) {
    const name = members.names[index];
    if (name === 'model') {
      if (seen & 1) throw invalid("The body has two members 'model'", 'model');
      seen |= 1;
      const start = members.starts[index] ?? 0;
      if (bytes[start] !== QUOTE) throw invalid("'model' must be a string", 'model');
      const end = members.ends[index] ?? 0;
      if (end - start > MODEL_BYTES_MAX) throw tooLargeMember('model');
      const value = decodeString(bytes, start, end);
      if (value === undefined) throw invalid("'model' is not valid JSON", 'model');
      model = value;
    } else if (name === 'stream') {
      if (seen & 2) throw invalid("The body has two members 'stream'", 'stream');
      seen |= 2;
      const value = valueAt(bytes, members, index);
      if (typeof value !== 'boolean' && value !== null) throw invalid("'stream' must be a boolean", 'stream');
      stream = value === true;
    }
  }
  return { bytes, members, model, stream };
}

/** A request that another area makes. It must be within the limits of a request that comes as bytes. */
export function requestOf(body: JsonObject): GatewayRequest {
  let scanned: GatewayRequest | undefined;
  const scan = (): GatewayRequest => (scanned ??= readRequest(Buffer.from(JSON.stringify(body))));
  return {
    body,
    model: body['model'] as string | undefined,
    stream: body['stream'] === true,
    get bytes() {
      return scan().bytes;
    },
    get members() {
      return scan().members;
    },
  };
}

const REFUSALS: Record<ScanRefusal, string> = {
  malformed: 'The body is not valid JSON',
  nesting: 'The body is nested too deeply',
  values: `The body holds more than ${REQUEST_LIMITS.valuesMax} values`,
  members: `The body has more than ${REQUEST_LIMITS.membersMax} members`,
  name: `The body has a member whose name is longer than ${REQUEST_LIMITS.nameBytesMax} bytes`,
};

/** Where another value than an object begins. */
const OTHER_VALUE = /^[\t\n\r ]*["[\dtfn-]/;

const explainRefusal = (refusal: ScanRefusal, bytes: Uint8Array): string =>
  refusal === 'malformed' && OTHER_VALUE.test(Buffer.from(bytes.subarray(0, 64)).toString('latin1'))
    ? 'The body must be a JSON object'
    : REFUSALS[refusal];

/** The value of one member, which must be small. Throws 400 where its text is not JSON, not UTF-8, or too long. */
function valueAt(bytes: Uint8Array, { names, starts, ends }: Members, index: number): Json {
  const start = starts[index] ?? 0;
  const end = ends[index] ?? 0;
  if (bytes[start] === 0x74) return true;
  if (bytes[start] === 0x66) return false;
  const name = names[index] ?? '';
  if (end - start > SMALL_MEMBER_BYTES_MAX) throw tooLargeMember(name);
  try {
    return parseJson(utf8.decode(bytes.subarray(start, end))) as Json;
  } catch {
    throw invalid(`'${name}' is not valid JSON`, name);
  }
}

/**
 * The last member of this name, as SDKs and most servers read repeats; undefined where there is none. For members that
 * are small: throws 400 for one of more than 64 KiB.
 */
export function readMember(request: GatewayRequest, name: string): Json | undefined {
  if (request.body !== undefined) return request.body[name];
  const { bytes, members } = request;
  const index = members.names.lastIndexOf(name);
  return index === -1 ? undefined : valueAt(bytes, members, index);
}

/** All members of this name, in any case, as some servers read them. Throws as `readMember` does. */
export function readMembers(request: GatewayRequest, name: string): Json[] {
  const isNamed = (each: string): boolean => each === name || each.toLowerCase() === name;
  const { body } = request;
  if (body !== undefined)
    return Object.keys(body)
      .filter(isNamed)
      .map((each) => body[each] ?? null);
  const { bytes, members } = request;
  return members.names.flatMap((each, index) => (isNamed(each) ? [valueAt(bytes, members, index)] : []));
}

/** Whether its answers are texts, whose tokens count. */
export const isText = (endpoint: Endpoint): boolean => endpoint === 'chat' || endpoint === 'completions';

/** Whether the caller asks for the usage within the stream. Throws 400 for `stream_options` that are not JSON or too large. */
export function asksForUsage(request: GatewayRequest): boolean {
  const options = request.stream ? readMember(request, 'stream_options') : undefined;
  return (options as { include_usage?: unknown } | null | undefined)?.include_usage === true;
}

/** The whole body, whose limits a scan has checked. Throws 400 where strings within it are no JSON or UTF-8. */
export const parseWhole = async (request: Pick<GatewayRequest, 'bytes' | 'body'>): Promise<JsonObject> =>
  request.body ?? ((await parseScanned(request.bytes)) as JsonObject);

/** The last member of this name, of any size. Throws 400 where strings within it are no JSON or UTF-8. */
export async function parseMember(request: GatewayRequest, name: string): Promise<Json | undefined> {
  if (request.body !== undefined) return request.body[name];
  const { names, starts, ends } = request.members;
  const index = names.lastIndexOf(name);
  return index === -1 ? undefined : parseScanned(request.bytes.subarray(starts[index], ends[index]), name);
}

async function parseScanned(bytes: Uint8Array, name?: string): Promise<Json> {
  try {
    return (await parseJsonWithin(utf8.decode(bytes), NO_LIMITS)) as Json;
  } catch {
    throw invalid(name === undefined ? 'The body is not valid JSON' : `'${name}' is not valid JSON`, name);
  }
}

/** Texts of a member: those of a list, else one; a list of numbers is one text of tokens. */
export function countTexts({ bytes, members }: GatewayRequest, name: string): number {
  const start = members.starts[members.names.lastIndexOf(name)] ?? 0;
  const first = String.fromCharCode(bytes[skipBlank(bytes, start + 1)] ?? 0);
  return /[-\d]/.test(first) ? 1 : Math.max(1, countItems(bytes, start));
}

/** Bytes of the request without this member. Throws 400 where it has two: an upstream might use the other. */
export function measureWithout({ bytes, members }: GatewayRequest, name: string): number {
  const { names, starts, ends } = members;
  const index = names.indexOf(name);
  if (index !== names.lastIndexOf(name)) throw invalid(`The body has two members '${name}'`, name);
  return bytes.length - ((ends[index] ?? 0) - (starts[index] ?? 0));
}

/** The same request with another value of the member. */
export const withMember = (request: GatewayRequest, name: string, value: Json): GatewayRequest =>
  request.body === undefined
    ? readRequest(splice(request, [{ name, value }]))
    : requestOf({ ...request.body, [name]: value });

export type Splice = { name: string; value: Json };

/** The bytes of the request with these members set. */
export function render(request: GatewayRequest, changes: readonly Splice[]): Uint8Array {
  if (request.body === undefined) return splice(request, changes);
  const changed = changes.map(({ name, value }) => [name, value]);
  return Buffer.from(JSON.stringify({ ...request.body, ...Object.fromEntries(changed) }));
}

/** The body with these members set, everything else byte for byte as it came. One copy, or none where nothing changes. */
export function splice(
  { bytes, members }: Pick<GatewayRequest, 'bytes' | 'members'>,
  changes: readonly Splice[],
): Uint8Array {
  const edits: { start: number; end: number; text: Uint8Array }[] = [];
  const added: string[] = [];
  for (const { name, value } of changes) {
    const index = members.names.lastIndexOf(name);
    if (index === -1) added.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    else {
      const start = members.starts[index] ?? 0;
      const end = members.ends[index] ?? 0;
      const text = encoder.encode(JSON.stringify(value));
      if (!equals(bytes, start, end, text)) edits.push({ start, end, text });
    }
  }
  if (added.length > 0) {
    const text = encoder.encode(`${added.join(',')}${members.names.length === 0 ? '' : ','}`);
    edits.push({ start: insertAt(bytes), end: insertAt(bytes), text });
  }
  if (edits.length === 0) return bytes;
  edits.sort((a, b) => a.start - b.start);
  const length = edits.reduce((sum, { start, end, text }) => sum + text.length - (end - start), bytes.length);
  const result = new Uint8Array(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    result.set(bytes.subarray(from, start), to);
    to += start - from;
    result.set(text, to);
    to += text.length;
    from = end;
  }
  result.set(bytes.subarray(from), to);
  return result;
}

/** Behind the brace that opens the object. */
const insertAt = (bytes: Uint8Array): number => bytes.indexOf(0x7b) + 1;

function equals(bytes: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  if (end - start !== text.length) return false;
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text[index]) return false;
  return true;
}
