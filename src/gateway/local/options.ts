// The options of a `local-echo` request: each member is honoured, or refused by its name.

import { isRawNumber, type Json, type JsonObject } from '../../core/json.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import { ECHO_CHOICES_MAX, ECHO_STOP_LENGTH_MAX } from '../limits.ts';

const CHOICES_OF_PROMPT_MAX = 128;
const STOPS_MAX = 4;

/** As OpenAI's API has it: absent and null are the same. */
export const given = (value: Json | undefined): Json | undefined => value ?? undefined;

function readCount(
  body: JsonObject,
  name: string,
  { minimum, maximum = Number.POSITIVE_INFINITY }: { minimum: number; maximum?: number },
): number | undefined {
  const value = given(body[name]);
  if (value === undefined) return undefined;
  // A number of more digits than a double holds is kept as its text.
  const number = isRawNumber(value) ? Number(value.rawJSON) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= minimum && number <= maximum)
    return number;
  const range =
    maximum === Number.POSITIVE_INFINITY ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  throw invalid(`'${name}' must be an integer ${range}`, name);
}

/** Choices for each prompt. Throws 400 where there are more in all than may be. */
export function readChoices(body: JsonObject, prompts: number): number {
  const choices = readCount(body, 'n', { minimum: 1, maximum: CHOICES_OF_PROMPT_MAX }) ?? 1;
  const tried = readCount(body, 'best_of', { minimum: 1, maximum: CHOICES_OF_PROMPT_MAX }) ?? choices;
  if (tried < choices) throw invalid("'best_of' must not be less than 'n'", 'best_of');
  if (prompts > ECHO_CHOICES_MAX)
    throw invalid(`'prompt' may hold ${ECHO_CHOICES_MAX} texts at most`, 'prompt');
  if (prompts * choices > ECHO_CHOICES_MAX)
    throw invalid(`'n' may ask for ${ECHO_CHOICES_MAX} choices at most, those of all prompts together`, 'n');
  return choices;
}

/** Undefined: as many as may be. */
export function readTokensMax(body: JsonObject, minimum: 0 | 1): number | undefined {
  const all = ['max_tokens', 'max_completion_tokens'].map((name) => readCount(body, name, { minimum }));
  const counts = all.filter((each) => each !== undefined);
  return counts.length === 0 ? undefined : Math.min(...counts);
}

export function readStops({ stop }: JsonObject): string[] {
  const value = given(stop);
  if (value === undefined) return [];
  const stops = Array.isArray(value) ? value : [value];
  if (stops.length > STOPS_MAX) throw invalid(`'stop' may hold ${STOPS_MAX} texts at most`, 'stop');
  return stops.map((each) => {
    if (typeof each !== 'string') throw invalid("'stop' must be a text or a list of texts", 'stop');
    if (each === '') throw invalid("'stop' must not hold an empty text", 'stop');
    if (each.length > ECHO_STOP_LENGTH_MAX)
      throw invalid(`A text of 'stop' may have ${ECHO_STOP_LENGTH_MAX} characters at most`, 'stop');
    return each;
  });
}

export function readFlag(body: JsonObject, name: string): boolean {
  const value = given(body[name]);
  if (value !== undefined && typeof value !== 'boolean') throw invalid(`'${name}' must be a boolean`, name);
  return value === true;
}

export function readText(body: JsonObject, name: string): string {
  const value = given(body[name]);
  if (value !== undefined && typeof value !== 'string') throw invalid(`'${name}' must be a text`, name);
  return value ?? '';
}

/** Throws 400 for a member that asks for something which the model has not. */
export function refuseMember(body: JsonObject, name: string): void {
  const value = given(body[name]);
  if (value !== undefined && value !== false) throw unsupported(`local-echo has no '${name}'`, name);
}

/** 400 for a member with an invalid value. */
export const invalid = (sentence: string, param: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'invalid_value' });

/** 400 for a member that the built-in model has nothing for. */
export const unsupported = (sentence: string, param: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'unsupported_parameter' });
