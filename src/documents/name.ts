import { valueError } from '../core/errors.ts';

/** URLs can't hold `.` or `..` as a segment, so no request could name such a document: 422. */
export function refuseUnreachableName(name: string, loc: string[]): void {
  if (name === '.' || name === '..') throw valueError(loc, `a document can't be named '${name}'`, name);
}

/** The name's last suffix, lower-cased, where it is one (`[a-z0-9]{1,16}`). */
export const extensionOf = (name: string): string | null =>
  /\.([a-z0-9]{1,16})$/i.exec(name)?.[1]?.toLowerCase() ?? null;
