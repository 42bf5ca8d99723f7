// Small notices of an imaginary company, written for these tests: the same topics in eight languages.

import { german } from './de.ts';
import { english } from './en.ts';
import { spanish } from './es.ts';
import { french } from './fr.ts';
import { japanese } from './ja.ts';
import { russian } from './ru.ts';
import { turkish } from './tr.ts';
import { chinese } from './zh.ts';

const LANGUAGES = { english, german, spanish, french, russian, turkish, japanese, chinese };

export type Query = { language: string; text: string; relevant: ReadonlySet<number> };

/** All documents, of all languages, in one collection; a query's relevant ones are named by their places in it. */
export function createCorpus(): { documents: string[]; queries: Query[] } {
  const documents: string[] = [];
  const queries: Query[] = [];
  for (const [language, topics] of Object.entries(LANGUAGES)) {
    for (const topic of topics) {
      const relevant = new Set(topic.documents.map((_, index) => documents.length + index));
      documents.push(...topic.documents);
      queries.push({ language, text: topic.query, relevant });
    }
  }
  return { documents, queries };
}
