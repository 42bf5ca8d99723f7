// CloudEvents over HTTP (HTTP Protocol Binding 1.0.2): a request → the events in it, in the mode that its media type
// tells. Hand-checked: the official SDK would invent ids that are missing, and then nothing could be told twice.

import { tooLarge, unsupportedMediaType, ValidationFailure, valueError } from '../core/errors.ts';
import { mayBeUnstorable, parseJsonAsWritten } from '../core/json.ts';
import { locateJsonError } from '../http/json-error.ts';
import { JSON_NESTING_MAX } from '../http/limits.ts';
import type { SentEvent } from './check-event.ts';
import { EVENT_BYTES_MAX, REQUEST_EVENTS_MAX } from './limits.ts';

const BATCH = /^application\/cloudevents-batch(?:\+json)?\s*(?:;|$)/i;
const STRUCTURED = /^application\/cloudevents(?:\+json)?\s*(?:;|$)/i;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
const ANY_CLOUDEVENT = /^application\/cloudevents/i;

/** Arrays and objects around an event's data: the event, and the batch. */
const IN_EVENT = 1;
const IN_BATCH = 2;

/**
 * Throws 415 for a media type of no mode, 413 for too many events or one that is too large, and ValidationFailure for
 * a body that holds no events at all.
 */
export function readCloudEvents(headers: Headers, body: Uint8Array): SentEvent[] {
  const mediaType = headers.get('content-type') ?? '';
  if (BATCH.test(mediaType)) return readBatch(body);
  if (STRUCTURED.test(mediaType)) return [readStructured(body)];
  if (ANY_CLOUDEVENT.test(mediaType))
    throw unsupportedMediaType('CloudEvents are taken in their JSON format');
  if ([...headers.keys()].some((name) => name.startsWith('ce-')))
    return [readBinary(headers, body, mediaType)];
  throw unsupportedMediaType(
    'Send application/cloudevents+json, application/cloudevents-batch+json, or JSON data with ce- headers',
  );
}

function readBatch(body: Uint8Array): SentEvent[] {
  const { value, suspect } = parse(body, IN_BATCH);
  if (!Array.isArray(value)) {
    const msg = 'Input should be a valid list';
    throw new ValidationFailure([{ type: 'list_type', loc: ['body'], msg, input: null }]);
  }
  if (value.length > REQUEST_EVENTS_MAX)
    throw tooLarge(`A request takes at most ${REQUEST_EVENTS_MAX} events`);
  if (value.length === 0) {
    const ctx = { field_type: 'List', min_length: 1, actual_length: 0 };
    const msg = 'List should have at least 1 item after validation, not 0';
    throw new ValidationFailure([{ type: 'too_short', loc: ['body'], msg, input: [], ctx }]);
  }
  if (body.length > EVENT_BYTES_MAX) value.forEach(refuseLarge);
  return value.map((fields, index) => toSent(fields, ['body', index], suspect));
}

function readStructured(body: Uint8Array): SentEvent {
  if (body.length > EVENT_BYTES_MAX) throw eventTooLarge();
  const { value, suspect } = parse(body, IN_EVENT);
  return toSent(value, ['body'], suspect);
}

/** Attributes as headers, percent-encoded; the body is the data. */
function readBinary(headers: Headers, body: Uint8Array, mediaType: string): SentEvent {
  if (body.length > EVENT_BYTES_MAX) throw eventTooLarge();
  const fields: Record<string, unknown> = {};
  for (const [header, value] of headers) {
    if (header.startsWith('ce-')) fields[header.slice(3)] = decodeHeader(header, value);
  }
  const loc = (name: string) => (name === 'data' ? ['body'] : ['header', `ce-${name}`]);
  if (body.length === 0) return { fields, loc, suspect: true };
  if (!JSON_TYPE.test(mediaType)) throw unsupportedMediaType('The data of an event must be JSON');
  return { fields: { ...fields, data: parse(body, 0).value }, loc, suspect: true };
}

function decodeHeader(header: string, value: string): string {
  try {
    return decodeURIComponent(value.replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25'));
  } catch {
    throw valueError(['header', header], 'the percent-encoded bytes are not UTF-8', value);
  }
}

function toSent(fields: unknown, place: (string | number)[], suspect: boolean): SentEvent {
  const loc = (name: string) => [...place, name];
  // What is no object has none of the attributes that an event must have.
  const known = typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? fields : {};
  return { fields: known as Record<string, unknown>, loc, suspect };
}

function refuseLarge(event: unknown): void {
  let text: string | undefined;
  try {
    text = JSON.stringify(event);
  } catch {
    // Nested too deeply to be written: refused by its own check.
  }
  if (text !== undefined && Buffer.byteLength(text) > EVENT_BYTES_MAX) throw eventTooLarge();
}

const eventTooLarge = () => tooLarge(`An event takes at most ${EVENT_BYTES_MAX} bytes`);

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(body: Uint8Array, levels: number): { value: unknown; suspect: boolean } {
  if (body.length === 0) {
    throw new ValidationFailure([{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]);
  }
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw malformed(0, 'The body is not UTF-8');
  }
  try {
    const suspect = mayBeUnstorable(text, JSON_NESTING_MAX + levels);
    return { value: parseJsonAsWritten(text), suspect };
  } catch {
    const { offset, error } = locateJsonError(text);
    throw malformed(offset, error);
  }
}

const malformed = (offset: number, error: string) =>
  new ValidationFailure([
    { type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error } },
  ]);
