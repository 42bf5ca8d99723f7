import { conflict } from '../../core/errors.ts';
import type { Document } from '../document.ts';
import { editable, type Viewer } from '../policy.ts';
import { parseReference } from '../reference.ts';
import type { DocumentStore, Preference } from '../store.ts';

const ATTEMPTS_MAX = 3;

export type EditDeps = {
  store: Pick<DocumentStore, 'find'>;
  /** Drops what is cached of a document. */
  changed(id: string): void;
};

/**
 * Finds the document that a reference means to the viewer, checks that it may be edited, and lets `write` change
 * it under the same conditions. One that was binned, purged or taken from the viewer in between is looked up
 * again, which tells why or finds a namesake. Throws 404 unseen, 403 not theirs to edit, 409 binned.
 */
export async function edit(
  { store, changed }: EditDeps,
  target: { viewer: Viewer; reference: string; preference: Preference },
  write: (document: Document) => Promise<Document | undefined>,
): Promise<Document> {
  const { viewer, reference, preference } = target;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = editable(viewer, await store.find({ viewer, ...parseReference(reference), preference }));
    const updated = await write(found);
    changed(found.id);
    if (updated !== undefined) return updated;
  }
  throw conflict('The document keeps changing; try again');
}
