// Which stems the words of a text get, and those of a question: by the languages of the texts, as far as the server knows them.

import { expect, test } from 'bun:test';
import { readLanguages } from '../../../src/documents/retrieval/question.ts';
import { createStemmer, STEMMED_LANGUAGES } from '../../../src/documents/retrieval/stems.ts';
import { FIRST_ID } from '../../../src/documents/rows.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { asked, inWorkspace, retrievalIn } from './setting.ts';

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
  const [viewer, stranger] = [
    inWorkspace(`w-${crypto.randomUUID()}`),
    inWorkspace(`w-${crypto.randomUUID()}`),
  ];
  const languages = async () => (await readLanguages(sql, viewer)).toSorted();
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

test('two neighbouring syllables of Vietnamese count as a word, also in texts that an earlier version kept', async () => {
  const retrieval = retrievalIn(sql);
  const viewer = inWorkspace(`w-${crypto.randomUUID()}`);
  const [apart, together] = ['Máy cũ ở trong nhà ông.', 'Ông đã làm việc ở nhà máy cũ này.'];
  const vietnamese = await retrieval.store(viewer, 'vi', apart, together);
  const turkish = await retrieval.store(viewer, 'tr', 'Pompalar.');
  const found = async (query: string) =>
    (await retrieval.retrieve(viewer, asked(query))).passages.map(({ text }) => text);
  expect(await found('Nhà máy nằm ở đâu?')).toEqual([together, apart]);
  // The same syllables, none of them a neighbour: the shorter passage has more of the question.
  expect(await found('Máy ở đâu trong nhà?')).toEqual([apart, together]);

  const without = async () => {
    const ids = (await retrieval.words.withoutWords(FIRST_ID, 10_000)).map(({ id }) => id);
    return ids.filter((id) => id === vietnamese || id === turkish);
  };
  expect(await without()).toEqual([]);
  const forms = await sql<{ form: number }[]>`
    UPDATE document_contents SET words_form = (SELECT words_form FROM document_contents WHERE document_id = ${turkish})
    WHERE document_id = ${vietnamese} RETURNING words_form AS form`;
  expect(forms).toHaveLength(1);
  expect(await without()).toEqual([vietnamese]);
  await sql`UPDATE document_passage_words SET words = ''::tsvector WHERE document_id = ${vietnamese}`;
  await retrieval.words.catchUp(new AbortController().signal);
  expect(await without()).toEqual([]);
  expect(await found('Nhà máy nằm ở đâu?')).toEqual([together, apart]);
});
