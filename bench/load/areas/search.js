// Lists of a library: filtered, ordered, in pages, and by words.

import { apiKey, get, oneOf, pick, setting } from '../lib.js';

const list = (name, query, holds) => () =>
  get(`search: ${name}`, `/v1/filter/${setting.workspace}?${query()}`, {
    headers: apiKey,
    holds: (answer) => {
      const { items, total } = answer.json();
      return Array.isArray(items) && total >= items.length && (holds === undefined || holds(items));
    },
  });
const tag = () => encodeURIComponent(pick(setting.tags));

export const search = () =>
  oneOf([
    [4, list('newest', () => 'size=20')],
    [
      3,
      list(
        'tag',
        () => `tags=any:${tag()}&size=20`,
        (items) => items.length > 0,
      ),
    ],
    [
      2,
      list(
        'by name, in pages',
        () => `order_by=name%20ASC&size=10&page=${1 + Math.floor(Math.random() * 5)}`,
      ),
    ],
    [2, list('type and size', () => 'file_type=eq:md&file_size=gt:100&order_by=file_size%20DESC&size=20')],
    [2, list('words', () => `q=${encodeURIComponent(pick(setting.questions).query)}&size=10`)],
  ]);
