// What clients were told about each document, and what may have become of the operations that got no answer.

import type { DocumentRecord } from '../../acceptance/support/library.ts';
import type { Descriptor } from '../../acceptance/support/uploads.ts';

export type Fields = { name: string; summary: string | null; tags: string[] | null };

export type State = { phase: 'absent' } | { phase: 'live' | 'binned'; archived: boolean; fields: Fields };

export type Entry = {
  readonly form: Descriptor;
  /** The one whose form it was posted with, where the form had been used before. */
  readonly earlier: Entry | undefined;
  /** Another file was posted with the form, or may have been: a confirm would be about that one. */
  superseded: boolean;
  readonly md5: string;
  readonly sizeBytes: number;
  /** Its name until it is patched: unique, so that it finds the document whose id never arrived. */
  readonly firstName: string;
  /** Before the upload began, in monotonic milliseconds. */
  readonly sentAt: number;
  /** Whether the store has said that it holds the upload, and what became of it. */
  upload: 'sent' | 'stored' | 'confirmed' | 'gone';
  id: string | undefined;
  /** The last that was acknowledged. */
  state: State;
  /** What operations without an answer may have made of it instead. */
  possible: State[];
  /** A download URL that was signed before. */
  link: string | undefined;
};

export const tempKeyOf = (entry: Entry): string => entry.form.fields['key'] ?? '';

/** The document that the form made before, and that a confirm answers where nothing new was posted. */
export const isEarlier = (entry: Entry, id: string): boolean =>
  entry.earlier !== undefined && (entry.earlier.id === id || isEarlier(entry.earlier, id));

/** Whether a confirm may find no upload: it never arrived, or is old enough for the sweeper (by whole seconds). */
export const mayBeMissing = (entry: Entry, retentionMs: number): boolean =>
  entry.upload === 'sent' || performance.now() - entry.sentAt > retentionMs - 1000;

/** What a record of the interface says; the archive is a list of its own. */
export function toState(record: DocumentRecord, archived: boolean): State {
  const { name, summary, tags } = record;
  const phase = record.status === 'deleted' ? 'binned' : 'live';
  return { phase, archived, fields: { name, summary, tags } };
}

/** The archive does not list what is in the bin: there, whether it is archived can't be seen. */
export function isSame(one: State, other: State): boolean {
  if (one.phase === 'absent' || other.phase === 'absent') return one.phase === other.phase;
  return (
    one.phase === other.phase &&
    (one.phase === 'binned' || one.archived === other.archived) &&
    Bun.deepEquals(one.fields, other.fields)
  );
}

/** The state that was seen becomes the acknowledged one, if it is among those that are allowed. */
export function settle(entry: Entry, seen: State): void {
  const found = [entry.state, ...entry.possible].find((state) => isSame(state, seen));
  if (found === undefined) throw new Error(`${describeEntry(entry)} is ${JSON.stringify(seen)}`);
  entry.state = found;
  entry.possible = [];
}

/** All that is known of it, for a failure. */
export function describeEntry({ firstName, id, upload, state, possible, sentAt }: Entry): string {
  const ageMs = Math.round(performance.now() - sentAt);
  return JSON.stringify({ firstName, id, upload, ageMs, state, possible });
}
