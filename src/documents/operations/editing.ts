import { conflict } from '../../core/errors.ts';
import type { Preference } from '../conditions.ts';
import type { Document } from '../document.ts';
import { assertEditable, type Viewer } from '../policy.ts';
import { parseReference } from '../reference.ts';
import type { DocumentStore, Found } from '../store.ts';

/** Of many who change one document at once, one succeeds at each attempt. */
const ATTEMPTS_MAX = 100;
/** From the third attempt on they keep out of each other's way. */
const PAUSE_MS_MAX = 20;

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
  write: (document: Found) => Promise<Document | undefined>,
): Promise<Document> {
  const { viewer, reference, preference } = target;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (attempt > 1) await Bun.sleep(Math.random() * PAUSE_MS_MAX);
    const found = await store.find({ viewer, ...parseReference(reference), preference });
    assertEditable(viewer, found);
    const updated = await write(found);
    changed(found.id);
    if (updated !== undefined) return updated;
  }
  throw conflict('The document keeps changing; try again');
}
