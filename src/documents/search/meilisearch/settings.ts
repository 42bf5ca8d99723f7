// How an index of the search server is set up. Another set-up, or another mapping, is another version, and gets an
// index of its own.

import type { IndexSettings } from '../../../infra/meilisearch/indexes.ts';
import { ENTRY_FORM } from '../entry.ts';
import { ONE_ERROR_LENGTH_MIN, TWO_ERRORS_LENGTH_MIN } from '../terms.ts';
import { MAPPING } from './document.ts';

const EXACT = { facetSearch: false, filter: { equality: true, comparison: false } };
const COMPARED = { facetSearch: false, filter: { equality: true, comparison: true } };

export const INDEX_SETTINGS: IndexSettings = {
  searchableAttributes: ['name', 'tags', 'categories', 'slots', 'summary'],
  filterableAttributes: [
    { attributePatterns: ['id', 'workspace', 'class', 'terms', 'no_size'], features: EXACT },
    { attributePatterns: ['created_at', 'file_size'], features: COMPARED },
  ],
  sortableAttributes: ['id', 'created_at', 'order_name', 'no_size', 'file_size'],
  // Relevance before the order that was asked for.
  rankingRules: ['words', 'typo', 'proximity', 'attribute', 'exactness', 'sort'],
  typoTolerance: { minWordSizeForTypos: { oneTypo: ONE_ERROR_LENGTH_MIN, twoTypos: TWO_ERRORS_LENGTH_MIN } },
  // Totals are exact, whatever they are.
  pagination: { maxTotalHits: 1_000_000_000 },
  facetSearch: false,
};

export const INDEX_VERSION = new Bun.CryptoHasher('sha256')
  .update(JSON.stringify([ENTRY_FORM, MAPPING, INDEX_SETTINGS]))
  .digest('hex')
  .slice(0, 12);
