// Tokens: as the upstream tells them, else estimated.

import { parseJson } from '../core/json.ts';
import { CHECKED_BYTES_MAX, TAIL_BYTES } from './limits.ts';
import { type Members, scanObject } from './scan.ts';

export type Usage = { promptTokens: number; completionTokens: number; estimated: boolean };

/** About four bytes of text are a token, in the languages and models that most use. */
const BYTES_OF_A_TOKEN = 4;

export const estimateTokens = (bytes: number): number => Math.ceil(bytes / BYTES_OF_A_TOKEN);

const latin1 = new TextDecoder('latin1');

/**
 * The usage that a whole answer tells of; undefined where it tells none. `members` where they are known already.
 */
export function readUsage(answer: Uint8Array, members: Members | undefined): Usage | undefined {
  if (members !== undefined) {
    const index = members.names.indexOf('usage');
    if (index === -1) return undefined;
    return toUsage(latin1.decode(answer.subarray(members.starts[index], members.ends[index])));
  }
  // Of a large answer only the end is looked at, where servers write it.
  const tail = latin1.decode(answer.subarray(Math.max(0, answer.length - TAIL_BYTES)));
  const found = tail.lastIndexOf('"usage"');
  const start = found === -1 ? -1 : tail.indexOf('{', found);
  return start === -1 ? undefined : toUsage(firstObject(tail.slice(start)));
}

function firstObject(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && --depth === 0) return text.slice(0, at + 1);
  }
  return '';
}

function toUsage(text: string): Usage | undefined {
  try {
    return fromUsage(parseJson(text));
  } catch {
    return undefined;
  }
}

/** OpenAI's usage object. Some servers name the sides input and output. */
export function fromUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const told = value as Record<string, unknown>;
  const prompt = told['prompt_tokens'] ?? told['input_tokens'];
  const completion = told['completion_tokens'] ?? told['output_tokens'] ?? 0;
  if (!isCount(prompt) || !isCount(completion)) return undefined;
  return { promptTokens: prompt, completionTokens: completion, estimated: false };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/**
 * Whether an answer is JSON as far as it is looked at, and its members where it is small enough to be read throughout.
 */
export function checkAnswer(answer: Uint8Array): { valid: boolean; members: Members | undefined } {
  if (answer.length <= CHECKED_BYTES_MAX) {
    const members = scanObject(answer);
    return { valid: members !== undefined, members };
  }
  const ends = latin1.decode(answer.subarray(0, 64)).trimStart()[0] === '{';
  return { valid: ends && latin1.decode(answer.subarray(-64)).trimEnd().endsWith('}'), members: undefined };
}
