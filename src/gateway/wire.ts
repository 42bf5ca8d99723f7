// The OpenAI wire: its shapes, as far as we make or read them ourselves.

import { isRawNumber } from '../core/json.ts';

export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json | undefined };

/** Not for a number that is kept as it was written. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);

/** A body that an upstream's protocol has no words for; answered as 400 with OpenAI's error. */
export class UntranslatableRequest extends Error {
  readonly param: string;

  constructor(param: string, sentence: string) {
    super(sentence);
    this.name = 'UntranslatableRequest';
    this.param = param;
  }
}
