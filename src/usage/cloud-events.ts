// CloudEvents over HTTP (HTTP Protocol Binding 1.0.2): a request → its events, in the mode of its media type. The
// checks are our own, because the official SDK invents missing ids, which would make deduplication impossible.

import { tooLarge, unsupportedMediaType, ValidationFailure, valueError } from '../core/errors.ts';
import { isNestedDeeper, mayBeUnstorable } from '../core/json.ts';
import { nextTimeSlice, SLICE_MS } from '../core/time-slices.ts';
import { JSON_NESTING_MAX } from '../http/limits.ts';
import { missing } from '../http/mistakes.ts';
import { isJsonMediaType, parseJsonBody } from '../http/validation.ts';
import { SentEvent } from './check-event.ts';
import { EVENT_BYTES_MAX, REQUEST_EVENTS_MAX, REQUEST_NESTING_MAX, REQUEST_VALUES_MAX } from './limits.ts';

const BATCH = /^application\/cloudevents-batch(?:\+json)?\s*(?:;|$)/i;
const STRUCTURED = /^application\/cloudevents(?:\+json)?\s*(?:;|$)/i;
const ANY_CLOUDEVENT = /^application\/cloudevents/i;

/** Nesting of an event's data in the body: in the event, and in the batch. */
const IN_EVENT = 1;
const IN_BATCH = 2;

/**
 * Throws 415 for a media type of no mode, 413 for too many events or one that is too large, and ValidationFailure for a
 * body without events.
 */
export async function readCloudEvents(headers: Headers, body: Uint8Array): Promise<SentEvent[]> {
  const mediaType = headers.get('content-type') ?? '';
  if (BATCH.test(mediaType)) return readBatch(body);
  if (STRUCTURED.test(mediaType)) return [await readStructured(body)];
  if (ANY_CLOUDEVENT.test(mediaType))
    throw unsupportedMediaType('CloudEvents are taken in their JSON format');
  if ([...headers.keys()].some((name) => name.startsWith('ce-')))
    return [await readBinary(headers, body, mediaType)];
  throw unsupportedMediaType(
    'Send content-type: application/cloudevents+json (one event), application/cloudevents-batch+json (a list of events), ' +
      'or the data as JSON with the attributes in ce- headers',
  );
}

async function readBatch(body: Uint8Array): Promise<SentEvent[]> {
  const { value, suspect } = await parse(body, IN_BATCH);
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
  if (body.length > EVENT_BYTES_MAX) await refuseLarge(value, suspect);
  return value.map((fields, index) => toSent(fields, ['body', index], suspect));
}

async function readStructured(body: Uint8Array): Promise<SentEvent> {
  if (body.length > EVENT_BYTES_MAX) throw eventTooLarge();
  const { value, suspect } = await parse(body, IN_EVENT);
  return toSent(value, ['body'], suspect);
}

/** Attributes as headers, percent-encoded; the body is the data. */
async function readBinary(headers: Headers, body: Uint8Array, mediaType: string): Promise<SentEvent> {
  if (body.length > EVENT_BYTES_MAX) throw eventTooLarge();
  const fields: Record<string, unknown> = {};
  for (const [header, value] of headers) {
    if (header.startsWith('ce-')) fields[header.slice(3)] = decodeHeader(header, value);
  }
  if (body.length === 0) return new SentEvent(fields, 'headers', true);
  // The media type of the data is optional (HTTP Protocol Binding, 3.1.1); SDKs leave it out.
  if (mediaType !== '' && !isJsonMediaType(mediaType))
    throw unsupportedMediaType(
      `The data of an event must be JSON: send content-type: application/json, not ${mediaType.slice(0, 100)}`,
    );
  return new SentEvent({ ...fields, data: (await parse(body, 0)).value }, 'headers', true);
}

function decodeHeader(header: string, value: string): string {
  try {
    return decodeURIComponent(value.replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25'));
  } catch {
    throw valueError(['header', header], 'the percent-encoded bytes are not UTF-8', value);
  }
}

function toSent(fields: unknown, place: (string | number)[], suspect: boolean): SentEvent {
  // A value that is not an object has none of the required attributes.
  const known = typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? fields : {};
  return new SentEvent(known as Record<string, unknown>, place, suspect);
}

/** Leaves an event that is nested too deeply to its own check, because its serialisation would take quadratic time. */
async function refuseLarge(events: readonly unknown[], suspect: boolean): Promise<void> {
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (const event of events) {
    const isDeep = suspect && isNestedDeeper(event, JSON_NESTING_MAX + IN_EVENT);
    if (!isDeep && Buffer.byteLength(JSON.stringify(event)) > EVENT_BYTES_MAX) throw eventTooLarge();
    if (performance.now() > sliceEndsAt) sliceEndsAt = await nextTimeSlice();
  }
}

const eventTooLarge = () => tooLarge(`An event takes at most ${EVENT_BYTES_MAX} bytes`);

/** The depth is larger than that of one event, so that an event that is too deep is refused without the others. */
const PARSED = {
  nestingMax: REQUEST_NESTING_MAX,
  valuesMax: REQUEST_VALUES_MAX,
  exactValuesMax: REQUEST_VALUES_MAX,
  anyNumber: true,
};

async function parse(body: Uint8Array, levels: number): Promise<{ value: unknown; suspect: boolean }> {
  if (body.length === 0) throw new ValidationFailure([missing(['body'], null)]);
  const { text, value } = await parseJsonBody(body, PARSED);
  return { value, suspect: mayBeUnstorable(text, value, JSON_NESTING_MAX + levels) };
}
