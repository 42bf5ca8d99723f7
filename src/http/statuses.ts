import type { ErrorKind } from '../core/errors.ts';

export const STATUS: Record<ErrorKind, number> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'request-timeout': 408,
  conflict: 409,
  gone: 410,
  'too-large': 413,
  'unsupported-media-type': 415,
  'too-many-requests': 429,
  'not-implemented': 501,
  'upstream-failed': 502,
  unavailable: 503,
  'upstream-timeout': 504,
};
