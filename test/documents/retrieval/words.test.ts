// What is found by words: in the language of a text and as they are written, by their rarity and in any script.

import { expect, test } from 'bun:test';
import { readLanguages } from '../../../src/documents/retrieval/question.ts';
import { wordsOf } from '../../../src/documents/retrieval/segmentation.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { asked, inWorkspace, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());
const retrieval = retrievalIn(sql);

const freshWorkspace = () => inWorkspace(`w-${crypto.randomUUID()}`);

const textsOf = async (viewer: ReturnType<typeof inWorkspace>, query: string): Promise<string[]> =>
  (await retrieval.retrieve(viewer, asked(query))).passages.map(({ text }) => text);

const LANGUAGES: [language: string, text: string, question: string][] = [
  ['en', 'The pumps were serviced by two mechanics.', 'Which mechanic services the pump?'],
  ['de', 'Die Ventile wurden von zwei Schlossern geprüft.', 'Welcher Schlosser prüft das Ventil?'],
  ['es', 'Las bombas fueron revisadas por dos mecánicos.', '¿Qué mecánico revisa la bomba?'],
  ['ru', 'Насосы проверили два механика.', 'Какой механик проверил насос?'],
  ['tr', 'Pompaların bakımı iki teknisyen tarafından yapıldı.', 'Pompa bakımını hangi teknisyen yapar?'],
  ['ar', 'تمت صيانة المضخات من قبل فنيين.', 'من قام بصيانة المضخة؟'],
  ['hi', 'पंपों की मरम्मत दो मिस्त्रियों ने की।', 'पंप की मरम्मत किसने की?'],
  ['th', 'ช่างสองคนซ่อมปั๊มน้ำแล้ว', 'ใครซ่อมปั๊มน้ำ'],
  ['vi', 'Hai thợ máy đã bảo dưỡng máy bơm.', 'Ai bảo dưỡng máy bơm?'],
  ['zh', '两名技师检修了水泵。', '谁检修水泵?'],
  ['ja', '二人の技師がポンプを修理した。', 'ポンプを修理したのは誰ですか'],
];

test('a question finds the inflected words of its language, in a workspace of many languages', async () => {
  const viewer = freshWorkspace();
  for (const [language, text] of LANGUAGES)
    await retrieval.store(viewer, language, text, `${text.slice(-3)} 42`);
  for (const [language, text, question] of LANGUAGES)
    expect({ language, found: (await textsOf(viewer, question))[0] }).toEqual({ language, found: text });
});

test('thousands of invented languages in a workspace cost a question nothing', async () => {
  const viewer = freshWorkspace();
  await retrieval.store(viewer, 'en', 'The pumps were serviced.');
  const undone = new Error('undone');
  const asking = sql.begin(async (tx) => {
    /** The languages of a question, and how often the contents are looked at for them. */
    const looks = async () => {
      const count = async (): Promise<number> => {
        const [row] = await tx<{ scans: number }[]>`
          SELECT coalesce(sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)), 0)::int AS scans
          FROM pg_stat_xact_user_tables WHERE relname = 'document_contents'`;
        return row?.scans ?? 0;
      };
      const before = await count();
      const languages = await readLanguages(tx, viewer);
      return { languages, scans: (await count()) - before };
    };
    const plain = await looks();
    // Rows without documents: to upload so many takes minutes.
    await tx`ALTER TABLE document_contents DROP CONSTRAINT document_contents_document_id_fkey`;
    await tx`
      INSERT INTO document_contents (document_id, workspace_id, state, language)
      SELECT gen_random_uuid(), ${viewer.workspaceId}, 'ready', chr(97 + n / 676) || chr(97 + n / 26 % 26) || chr(97 + n % 26)
      FROM generate_series(0, 2999) AS n`;
    expect(plain.languages).toEqual(['en']);
    expect(plain.scans).toBeGreaterThan(0);
    expect(await looks()).toEqual(plain);
    throw undone;
  });
  await expect(asking).rejects.toBe(undone);
});

test('names, codes and numbers are found as they are written, whatever the language', async () => {
  const viewer = freshWorkspace();
  await retrieval.store(
    viewer,
    'en',
    'Order the seal AX-4711/B from Mr. Müllers.',
    'Order a seal from others.',
  );
  await retrieval.store(viewer, null, 'x = 0x1F; kellerwald_7', 'nothing');
  expect((await textsOf(viewer, 'ax-4711'))[0]).toContain('AX-4711');
  expect((await textsOf(viewer, 'Müllers'))[0]).toContain('Müllers');
  expect((await textsOf(viewer, 'KELLERWALD'))[0]).toContain('kellerwald');
});

test('rare words count more than common ones, and a short passage more than a long one', async () => {
  const viewer = freshWorkspace();
  const filler = 'An unrelated sentence follows here about nothing in particular. '.repeat(6);
  await retrieval.store(viewer, 'en', ...Array.from({ length: 30 }, (_, n) => `The report number ${n}.`));
  await retrieval.store(viewer, 'en', `The gasket leaks. ${filler}`, 'The gasket leaks.');
  expect((await textsOf(viewer, 'report about the gasket')).slice(0, 2)).toEqual([
    'The gasket leaks.',
    expect.stringContaining('An unrelated sentence'),
  ]);
});

test('a score is a share from 0 to 1, and the least one that is asked for holds', async () => {
  const viewer = freshWorkspace();
  await retrieval.store(viewer, 'en', 'The gasket of the pump leaks.', 'The pump runs.');
  const { passages } = await retrieval.retrieve(viewer, asked('gasket pump'));
  expect(passages.length).toBe(2);
  for (const { score } of passages) expect(score > 0 && score < 1).toBe(true);
  const least = passages[0]?.score ?? 0;
  const best = await retrieval.retrieve(viewer, asked('gasket pump', { minScore: least }));
  expect(best.passages).toEqual(passages.slice(0, 1));
});

test('words of one workspace find nothing in another, and a text without a word finds nothing', async () => {
  const viewer = freshWorkspace();
  await retrieval.store(viewer, 'en', 'The gasket leaks.');
  expect(await textsOf(freshWorkspace(), 'gasket')).toEqual([]);
  for (const query of [' ', '?!…', '\u0000', '\ud800', '🙂', "'", '\\', "a' | 'b", ':*'])
    expect(await textsOf(freshWorkspace(), query)).toEqual([]);
  expect(await textsOf(viewer, '\ud800 gasket \u0000')).toEqual(['The gasket leaks.']);
});

test('passages that an earlier version kept are found once the catch-up has passed, and replaced ones no more', async () => {
  const viewer = freshWorkspace();
  const id = await retrieval.store(viewer, 'en', 'The old gasket leaks.');
  // As an earlier version does it: a new revision of the text, without words.
  await sql`UPDATE document_contents SET revision = revision + 1 WHERE document_id = ${id}`;
  await sql`DELETE FROM document_passages WHERE document_id = ${id}`;
  await sql`
    INSERT INTO document_passages (document_id, workspace_id, passage, text, starts_at, ends_at)
    VALUES (${id}, ${viewer.workspaceId}, 0, 'The new flange is tight.', 0, 24)`;
  expect(await textsOf(viewer, 'old gasket')).toEqual([]);
  expect(await textsOf(viewer, 'flanges')).toEqual([]);
  const { catchUp } = retrieval.words;
  await catchUp(new AbortController().signal);
  expect(await textsOf(viewer, 'flanges')).toEqual(['The new flange is tight.']);
  expect(await textsOf(viewer, 'old gasket')).toEqual([]);
  const before = await sql`SELECT ctid::text FROM document_passage_words WHERE document_id = ${id}`;
  await catchUp(new AbortController().signal);
  expect(await sql`SELECT ctid::text FROM document_passage_words WHERE document_id = ${id}`).toEqual(before);
});

test('in a large workspace the passage with the rare word is first, behind thousands with the common ones', async () => {
  const viewer = freshWorkspace();
  const filler = (number: number) =>
    `The annual report of year ${number} says what the plan of group ${number % 40} is.`;
  for (let part = 0; part < 6; part++)
    await retrieval.store(viewer, 'en', ...Array.from({ length: 1000 }, (_, n) => filler(part * 1000 + n)));
  await retrieval.store(viewer, 'en', 'The annual report speaks of a gasket.', 'An annual plan without one.');
  for (const [question, first] of [
    ['annual report of the plan of the gasket', 'The annual report speaks of a gasket.'],
    ['the group in the annual report 4711', filler(4711)],
  ] as const) {
    const texts = await textsOf(viewer, question);
    expect({ question, first: texts[0], found: texts.length }).toEqual({ question, first, found: 10 });
  }
});

test('every script is divided into words that a question of it shares', () => {
  expect(wordsOf('Ｐump-Wartung 4711')).toEqual(['pump', 'wartung', '4711']);
  expect(wordsOf('检修水泵')).toEqual(['检修', '修水', '水泵']);
  expect(wordsOf('水')).toEqual(['水']);
  expect(wordsOf('пётр I.')).toEqual(['пётр', 'i']);
  expect(wordsOf('كِتَابٌ')).toEqual(['كتاب']);
  expect(wordsOf('x'.repeat(100_000))[0]?.length).toBe(64);
});
