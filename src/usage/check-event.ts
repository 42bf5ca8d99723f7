// A CloudEvent (specification 1.0.2) of a request → an event that can be stored, or its mistakes.

import { parseDateTime } from '../core/date-time.ts';
import { type ValidationEntry, valueError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { findUnstorable, isNestedDeeper, isRawNumber } from '../core/json.ts';
import { JSON_NESTING_MAX } from '../http/limits.ts';
import { missing } from '../http/mistakes.ts';
import { isJsonMediaType } from '../http/validation.ts';
import { findFieldMistakes } from './event-types.ts';
import {
  EVENT_BYTES_MAX,
  EVENT_ID_BYTES_MAX,
  EVENT_MISTAKES_MAX,
  EXTENSIONS_BYTES_MAX,
  SOURCE_BYTES_MAX,
  SUBJECT_BYTES_MAX,
  TYPE_BYTES_MAX,
} from './limits.ts';
import { isOwnSource, OWN_SOURCE } from './own-source.ts';
import type { UsageEvent } from './row.ts';

/** A CloudEvent of a request, which is not checked yet. */
export class SentEvent {
  /** Attributes by name, and `data`. */
  readonly fields: Record<string, unknown>;
  /** Whether it may contain characters or numbers that the database refuses. */
  readonly suspect: boolean;
  private readonly place: 'headers' | readonly (string | number)[];

  /** `place`: where the event stands in the body, or that its attributes are headers. */
  constructor(
    fields: Record<string, unknown>,
    place: 'headers' | readonly (string | number)[],
    suspect: boolean,
  ) {
    this.fields = fields;
    this.place = place;
    this.suspect = suspect;
  }

  /** Where an attribute stands in the request. */
  loc(name: string): (string | number)[] {
    if (this.place !== 'headers') return [...this.place, name];
    return name === 'data' ? ['body'] : ['header', `ce-${name}`];
  }
}

/** `warning`: what is odd about an event that is stored nevertheless. */
export type Checked = { event: UsageEvent; warning?: string } | { mistakes: ValidationEntry[] };

const REQUIRED = { id: EVENT_ID_BYTES_MAX, source: SOURCE_BYTES_MAX, type: TYPE_BYTES_MAX } as const;
const OWN = new Set(['specversion', 'id', 'source', 'type', 'subject', 'time', 'data', 'datacontenttype']);
const DOTTED_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const EXTENSION_NAME = /^[a-z0-9]{1,64}$/;

export function checkEvent(workspaceId: string, sent: SentEvent, now: Date): Checked {
  const { fields } = sent;
  const mistakes: ValidationEntry[] = [];
  const wrong = (name: string, reason: string, input: unknown = fields[name]): void => {
    if (mistakes.length >= EVENT_MISTAKES_MAX) return;
    mistakes.push(...valueError(sent.loc(name.slice(0, SHOWN_MAX)), reason, short(input)).entries);
  };
  checkRequired(sent, mistakes);
  const { specversion, source: from, type: named } = fields;
  if (typeof from === 'string' && isOwnSource(from))
    wrong('source', `the source ${OWN_SOURCE}, and what looks like it, is the service's own`);
  if (typeof named === 'string' && named !== '' && !DOTTED_NAME.test(named))
    wrong('type', 'a type is a dotted name: parts of a-z, 0-9, _ and -, with dots between them');
  if (typeof specversion === 'string' && specversion !== '' && specversion !== '1.0')
    wrong('specversion', 'only version 1.0 of CloudEvents is understood');
  const subject = optionalText(sent, 'subject', SUBJECT_BYTES_MAX, mistakes) ?? '';
  const time = optionalText(sent, 'time', 64, mistakes);
  const timeMicroseconds = time === undefined ? BigInt(now.getTime()) * 1000n : toMicroseconds(time);
  if (timeMicroseconds === undefined) wrong('time', 'expected an RFC 3339 date and time of 1970 to 9999');
  if (sent.suspect) refuseUnstorable(fields, wrong);
  const extensions = readExtensions(fields, wrong);
  const data = readData(sent, wrong, mistakes);
  if (mistakes.length > 0 || data === undefined || timeMicroseconds === undefined) return { mistakes };
  const { id: eventId, source, type } = fields as Record<keyof typeof REQUIRED, string>;
  const event = { id: newId(), workspaceId, eventId, source, type, subject, timeMicroseconds };
  const value = toValue(data.value);
  const warning = value === null ? { warning: NOT_SUMMED } : {};
  return { event: { ...event, data: data.text, extensions, value }, ...warning };
}

const NOT_SUMMED =
  'data.value: no number that can be summed, so sums count the event with 0; expected a finite number of at most 1e30 and 40 ' +
  'digits, or a text that is a plain number';

function checkRequired(sent: SentEvent, mistakes: ValidationEntry[]): void {
  for (const name of ['id', 'source', 'specversion', 'type'] as const) {
    const input = sent.fields[name];
    const loc = sent.loc(name);
    if (input === undefined || input === null) {
      mistakes.push(missing(loc, null));
    } else if (typeof input !== 'string') {
      mistakes.push(notAString(loc, input));
    } else if (input === '') {
      const msg = 'String should have at least 1 character';
      mistakes.push({ type: 'string_too_short', loc, msg, input, ctx: { min_length: 1 } });
    } else if (name !== 'specversion' && isLonger(input, REQUIRED[name])) {
      mistakes.push(tooLong(loc, input, REQUIRED[name]));
    }
  }
}

function optionalText(
  sent: SentEvent,
  name: string,
  bytesMax: number,
  mistakes: ValidationEntry[],
): string | undefined {
  const input = sent.fields[name];
  if (input === undefined || input === null) return undefined;
  if (typeof input !== 'string') {
    mistakes.push(notAString(sent.loc(name), input));
    return undefined;
  }
  if (isLonger(input, bytesMax)) mistakes.push(tooLong(sent.loc(name), input, bytesMax));
  return input;
}

/** Counts bytes only where the length in characters leaves it open. */
const isLonger = (text: string, bytesMax: number): boolean =>
  text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;

const notAString = (loc: (string | number)[], input: unknown): ValidationEntry => ({
  type: 'string_type',
  loc,
  msg: 'Input should be a valid string',
  input: short(input),
});

const tooLong = (loc: (string | number)[], input: string, bytesMax: number): ValidationEntry => ({
  type: 'string_too_long',
  loc,
  msg: `String should have at most ${bytesMax} bytes`,
  input: short(input),
  ctx: { max_length: bytesMax },
});

const MICROSECONDS = /[.,]\d{3}(\d{1,3})/;

/** A time without a zone is UTC; digits behind the microseconds are dropped. */
function toMicroseconds(text: string): bigint | undefined {
  const ms = parseDateTime(text)?.getTime();
  if (ms === undefined || ms < 0) return undefined;
  const beyond = MICROSECONDS.exec(text)?.[1];
  return BigInt(ms) * 1000n + (beyond === undefined ? 0n : BigInt(beyond.padEnd(3, '0')));
}

type Wrong = (name: string, reason: string, input?: unknown) => void;

function refuseUnstorable(fields: Record<string, unknown>, wrong: Wrong): void {
  for (const [name, value] of Object.entries(fields)) {
    const found = findUnstorable(value, JSON_NESTING_MAX);
    if (found === undefined) continue;
    const where = found.path.length === 0 ? '' : ` (at ${found.path.join('.').slice(0, 200)})`;
    wrong(name.toWellFormed(), `${found.reason}${where}`, null);
  }
}

function readExtensions(fields: Record<string, unknown>, wrong: Wrong): string | null {
  const kept: Record<string, unknown> = {};
  for (const name in fields) {
    const value = fields[name];
    if (OWN.has(name) || value === null) continue;
    if (name === 'data_base64') wrong(name, 'data must be a JSON object, not bytes', null);
    else if (!EXTENSION_NAME.test(name)) {
      wrong(name.toWellFormed(), 'names of attributes are made of a-z and 0-9', null);
    } else if (typeof value === 'object' && !isRawNumber(value)) {
      wrong(name, 'an attribute is a text, a number or a truth value', null);
    } else kept[name] = value;
  }
  const { datacontenttype } = fields;
  const isJson = typeof datacontenttype === 'string' && isJsonMediaType(datacontenttype);
  if (datacontenttype !== undefined && datacontenttype !== null && !isJson)
    wrong('datacontenttype', 'data must be JSON');
  const text = JSON.stringify(kept);
  if (isLonger(text, EXTENSIONS_BYTES_MAX))
    wrong('extensions', `attributes take at most ${EXTENSIONS_BYTES_MAX} bytes`, null);
  return text === '{}' ? null : text;
}

/** The stored value of an event without one: it counts as one. */
const DEFAULT_VALUE = 1;

/** The stored data, which always has a `value`; undefined for invalid data, with its mistakes reported. */
function readData(
  sent: SentEvent,
  wrong: Wrong,
  mistakes: ValidationEntry[],
): { text: string; value: unknown } | undefined {
  const { data: given, type } = sent.fields;
  const data = given ?? {};
  if (typeof data !== 'object' || Array.isArray(data) || isRawNumber(data)) {
    wrong('data', 'data must be a JSON object');
    return undefined;
  }
  if (typeof type === 'string') {
    for (const mistake of findFieldMistakes(type, data, sent.loc('data')))
      mistakes.push({ ...mistake, input: short(mistake.input) });
  }
  const { value } = data as { value?: unknown };
  const kept = value === undefined || value === null ? { ...data, value: DEFAULT_VALUE } : data;
  // The mistake is reported above. The serialisation of such a value would take quadratic time.
  if (sent.suspect && isNestedDeeper(data, JSON_NESTING_MAX)) return undefined;
  const text = JSON.stringify(kept);
  if (isLonger(text, EVENT_BYTES_MAX)) wrong('data', `an event takes at most ${EVENT_BYTES_MAX} bytes`, null);
  return { text, value: value ?? DEFAULT_VALUE };
}

/** A text that is a plain number. */
const NUMBER_TEXT = /^-?\d{1,18}(?:\.\d{1,9})?$/;
/** Larger numbers, and those with more digits, are not counted, because they would only make sums long. */
const NUMBER_MAX = 1e30;
const NUMBER_LENGTH_MAX = 40;

/** The part of a sum that `data.value` adds: a number, or a text that contains one. */
function toValue(value: unknown): string | null {
  if (typeof value === 'string') return NUMBER_TEXT.test(value) ? value : null;
  const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : undefined;
  const counts =
    text !== undefined && text.length <= NUMBER_LENGTH_MAX && Math.abs(Number(text)) <= NUMBER_MAX;
  return counts ? text : null;
}

const SHOWN_MAX = 200;

/** The input in an answer, shortened. */
function short(input: unknown): unknown {
  if (typeof input === 'object') return null;
  if (typeof input !== 'string') return input;
  return input.length > SHOWN_MAX ? `${input.slice(0, SHOWN_MAX).toWellFormed()}…` : input.toWellFormed();
}
