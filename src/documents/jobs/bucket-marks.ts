// The marks that databases leave in a bucket: whose objects it holds (`owner-`), how far that database had come
// (`reached-`), and that a copy of it has found itself behind (`behind-`). The objects are empty: their names alone count.

import type { ObjectStore } from '../../infra/s3/client.ts';
import { MARKS } from '../objects.ts';

export type Marks = Awaited<ReturnType<typeof readMarks>>;

export const ownerMark = (identity: string): string => `${MARKS}owner-${identity}`;
export const behindMark = (identity: string): string => `${MARKS}behind-${identity}`;
export const reachedMark = (identity: string, reached: number): string =>
  `${MARKS}reached-${identity}-${reached}`;

/** One listing; there are few of them. */
export async function readMarks(objects: Pick<ObjectStore, 'list'>) {
  const listed: string[] = [];
  for await (const page of objects.list(MARKS)) listed.push(...page.map(({ key }) => key));
  const keys = listed.filter((key) => /^(owner|reached|behind)-/.test(key.slice(MARKS.length)));
  const after = (start: string): string[] =>
    keys.filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
  return {
    owners: after(ownerMark('')),
    behind: after(behindMark('')),
    /** How far the database of the identity had come when the last of its marks was written; 0 without one. */
    reachedBy: (identity: string): number =>
      Math.max(0, ...after(`${MARKS}reached-${identity}-`).map(Number).filter(Number.isSafeInteger)),
    /** Keys of the marks that say how far a database had come, and of all marks. */
    reached: keys.filter((key) => key.startsWith(`${MARKS}reached-`)),
    keys,
  };
}
