// A document as Meilisearch holds it: what filters ask as digests and numbers, so that none of its own rules for
// comparing text apply, and the texts for `q=`; and how an index is set up.

import type { IndexSettings } from '../../../infra/meilisearch/indexes.ts';
import type { Document } from '../../document.ts';
import { classOf } from '../conditions.ts';
import { ENTRY_FORM, toSearchEntry } from '../entry.ts';
import { ONE_ERROR_LENGTH_MIN, TWO_ERRORS_LENGTH_MIN } from '../terms.ts';

/** To be raised when documents are mapped in another way. */
const MAPPING = 2;

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

const EXACT = { facetSearch: false, filter: { equality: true, comparison: false } };
const COMPARED = { facetSearch: false, filter: { equality: true, comparison: true } };

export const INDEX_SETTINGS: IndexSettings = {
  searchableAttributes: ['name', 'tags', 'categories', 'slots', 'summary'],
  filterableAttributes: [
    { attributePatterns: ['id', 'workspace', 'class', 'terms', 'no_size'], features: EXACT },
    { attributePatterns: ['created_at', 'file_size'], features: COMPARED },
  ],
  sortableAttributes: ['id', 'created_at', 'no_size', 'file_size'],
  // Relevance before the order that was asked for.
  rankingRules: ['words', 'typo', 'proximity', 'attribute', 'exactness', 'sort'],
  typoTolerance: { minWordSizeForTypos: { oneTypo: ONE_ERROR_LENGTH_MIN, twoTypos: TWO_ERRORS_LENGTH_MIN } },
  // Totals are exact, whatever they are.
  pagination: { maxTotalHits: 1_000_000_000 },
  facetSearch: false,
};

/** Another set-up, or another mapping, is another version, and gets an index of its own. */
export const INDEX_VERSION = new Bun.CryptoHasher('sha256')
  .update(JSON.stringify([ENTRY_FORM, MAPPING, INDEX_SETTINGS]))
  .digest('hex')
  .slice(0, 12);
