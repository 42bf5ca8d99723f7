// Type guards for the values of a parsed body.

import { isObject, type JsonObject } from '../../../core/json.ts';
import { UntranslatableRequest } from '../adapter.ts';

/** Absent and null are the same on OpenAI's wire. */
export const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

/** Throws UntranslatableRequest, naming the parameter. */
export function requireObject(value: unknown, param: string): JsonObject {
  if (isObject(value)) return value;
  throw new UntranslatableRequest(param, `'${param}' must be an object`);
}

/** Throws UntranslatableRequest, naming the parameter. */
export function requireList(value: unknown, param: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new UntranslatableRequest(param, `'${param}' must be an array`);
}

/** Throws UntranslatableRequest, naming the parameter. */
export function requireText(value: unknown, param: string): string {
  if (typeof value === 'string') return value;
  throw new UntranslatableRequest(param, `'${param}' must be a string`);
}
