// A document as the search server holds it: what filters ask as digests and numbers, so that none of its own rules for
// comparing text apply, and the texts for `q=`.

import type { Document } from '../../document.ts';
import { classOf } from '../branches.ts';
import { toSearchEntry } from '../entry.ts';

/** To be raised when documents are mapped in another way. */
export const MAPPING = 1;

/** The server orders by the first 468 bytes of a text. */
export const ORDER_NAME_BYTES_MAX = 230;

export async function toMirrored(document: Document) {
  const entry = await toSearchEntry(document);
  const content = {
    workspace: document.workspaceId,
    class: classOf(document),
    terms: entry.terms.map(toMirroredTerm),
    created_at: document.createdAt.getTime(),
    // Documents without a key to order by would be counted, but not returned.
    file_size: document.fileSize ?? -1,
    no_size: document.fileSize === null ? 1 : 0,
    order_name: toOrderName(entry.name),
    name: document.name,
    tags: document.tags ?? [],
    categories: document.categories ?? [],
    slots: Object.values(entry.slots ?? {}).flat(),
    summary: document.summary ?? '',
  };
  const fingerprint = new Bun.CryptoHasher('sha256')
    .update(JSON.stringify(content))
    .digest('hex')
    .slice(0, 16);
  return { id: document.id, ...content, fingerprint };
}

/** A letter leads, or digits could be taken for a number. */
export const toMirroredTerm = (term: string): string => `t${term}`;

/**
 * Normalised text as hexadecimal digits: these sort as its code points do, and the server's own trimming, folding and
 * recognition of numbers leave them alone.
 */
const toOrderName = (name: string): string =>
  `n${Buffer.from(name).subarray(0, ORDER_NAME_BYTES_MAX).toString('hex')}`;
