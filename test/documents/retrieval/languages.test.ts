// Which stems the words of a text get, and those of a question: by the languages of the texts, as far as the server knows them.

import { expect, test } from 'bun:test';
import { createReadStatistics } from '../../../src/documents/retrieval/statistics.ts';
import { createStemmer, STEMMED_LANGUAGES } from '../../../src/documents/retrieval/stems.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { inWorkspace, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());

/** Two forms of a word that the stemmer of the language brings together, of some languages. */
const FORMS: Record<string, [one: string, other: string]> = {
  ar: ['المضخة', 'مضخة'],
  da: ['pumperne', 'pumper'],
  de: ['ventilen', 'ventile'],
  en: ['services', 'serviced'],
  es: ['bombas', 'bomba'],
  fi: ['pumppuja', 'pumppu'],
  fr: ['pompes', 'pompe'],
  hu: ['szivattyúk', 'szivattyú'],
  it: ['pompe', 'pompa'],
  nb: ['pumpene', 'pumpen'],
  nl: ['pompen', 'pomp'],
  nn: ['pumpene', 'pumpen'],
  no: ['pumpene', 'pumpen'],
  pt: ['bombas', 'bomba'],
  ro: ['pompele', 'pompelor'],
  ru: ['насосы', 'насос'],
  sv: ['pumparna', 'pumpar'],
  tr: ['pompaların', 'pompalar'],
};

test('each language has its own stemmer, and words of others stay as they are', async () => {
  const stemmer = createStemmer();
  const words = new Set(Object.values(FORMS).flat());
  for (const [language, [one, other]] of Object.entries(FORMS)) {
    const [stems] = await stemmer.stem(sql, [language], words);
    expect({ language, one: stems?.(one) }).toEqual({ language, one: stems?.(other) });
    expect({ language, stems: [stems?.(one), stems?.(other)] }).not.toEqual({
      language,
      stems: [one, other],
    });
  }
  for (const stems of await stemmer.stem(sql, ['pl', 'th', null, 'eng', ''], words))
    for (const word of words) expect(stems(word)).toBe(word);
  const [english, russian] = await stemmer.stem(sql, ['en', 'ru'], ['the', 'насосы', 'pumps', 'и']);
  expect(['the', 'насосы', 'pumps', 'и'].map((word) => english?.(word))).toEqual([
    null,
    'насосы',
    'pump',
    'и',
  ]);
  expect([russian?.('the'), russian?.('и')]).toEqual(['the', null]);
});

test('a question is understood in the languages of the texts of its workspace that have stems, and in no others', async () => {
  const retrieval = retrievalIn(sql);
  const readStatistics = createReadStatistics();
  const [viewer, stranger] = [
    inWorkspace(`w-${crypto.randomUUID()}`),
    inWorkspace(`w-${crypto.randomUUID()}`),
  ];
  const languages = async () => (await readStatistics(sql, viewer.workspaceId)).languages.toSorted();
  expect(await languages()).toEqual([]);
  await retrieval.store(stranger, 'fr', 'Les pompes.');
  for (const language of ['tr', 'en', 'pl', null, 'en', 'zh', 'enm'])
    await retrieval.store(viewer, language, 'Text.');
  expect(await languages()).toEqual(['en', 'tr']);
  // The first and the last of the order, and neighbours in it.
  const [first = '', last = ''] = [STEMMED_LANGUAGES.toSorted()[0], STEMMED_LANGUAGES.toSorted().at(-1)];
  for (const language of [last, 'no', 'nn', 'nb', first]) await retrieval.store(viewer, language, 'Text.');
  expect(await languages()).toEqual([first, 'en', 'nb', 'nn', 'no', 'tr', last]);
  const other = await retrieval.store(viewer, 'es', 'Text.');
  expect(await languages()).toContain('es');
  await sql`UPDATE document_contents SET language = 'pl' WHERE document_id = ${other}`;
  expect(await languages()).not.toContain('es');
});
