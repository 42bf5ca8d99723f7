// Why a passage was found, as a person may ask to see it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bodyOf, expectStatus } from './support/caller.ts';
import { type Setting, startSetting } from './support/setting.ts';

type Why = {
  words_score: number | null;
  vectors_score: number | null;
  words: string[];
  matches: { start: number; end: number }[];
};
type Retrieved = { passages: { text: string; score: number; why?: Why }[] };

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

async function stored(name: string, content: string): Promise<void> {
  const { id } = await setting.admin.stored({ name }, content);
  expect(await setting.admin.whenRead(id)).toMatchObject({ status: 'ready' });
}

/** The best passage with its explanation, the matches as the words that stand there. */
async function explained(query: string): Promise<{ words: string[]; marked: string[] }> {
  const answer = await setting.admin.retrieve({ query, explain: true, limit: 1 });
  const [passage] = bodyOf<Retrieved>(answer, 200).passages;
  const characters = [...(passage?.text ?? '')];
  return {
    words: passage?.why?.words.toSorted() ?? [],
    marked: passage?.why?.matches.map(({ start, end }) => characters.slice(start, end).join('')) ?? [],
  };
}

test('a passage says which words of the question it has, in any of their forms, and where', async () => {
  await stored(
    'pumps.txt',
    '😀 The Pumps were switched off. Then a mechanic replaced the leaking seal of the second pump with care.',
  );
  await stored('水泵.txt', '启动之前必须关闭水泵。然后更换密封件。');
  await stored('ปั๊ม.txt', 'ต้องปิดปั๊มน้ำก่อนเปลี่ยนซีลทุกครั้ง');
  expect(await explained('Which PUMP leaks?')).toEqual({
    words: ['leaks', 'pump'],
    marked: ['Pumps', 'leaking', 'pump'],
  });
  expect(await explained('水泵关闭')).toEqual({ words: ['关闭', '水泵'], marked: ['关闭', '水泵'] });
  expect((await explained('ปั๊มน้ำ')).marked.join('')).toContain('น้ำ');
  const plain = bodyOf<Retrieved>(await setting.admin.retrieve({ query: 'pump' }), 200);
  expect(plain.passages[0]).not.toHaveProperty('why');
  expectStatus(await setting.admin.retrieve({ query: 'pump', explain: 'maybe' }), 422);
});

test('a word of the heading is named, though it stands nowhere in the passage', async () => {
  const sentences = Array.from(
    { length: 80 },
    (_, at) => `Step ${at} takes two drops and a little patience.`,
  );
  await stored('guide.md', `# Lubrication\n\n${sentences.join(' ')}\n`);
  const answer = await setting.admin.retrieve({
    query: 'lubrication',
    mode: 'words',
    explain: true,
    limit: 100,
  });
  const { passages } = bodyOf<Retrieved>(answer, 200);
  expect(passages.map(({ why }) => why?.words)).toEqual(passages.map(() => ['lubrication']));
  expect(passages.filter(({ why }) => why?.matches.length === 0)).not.toEqual([]);
});

test('a passage that was found by words has their score, and none of vectors', async () => {
  await stored('valve.txt', 'The valve closes by itself.');
  const answer = await setting.admin.retrieve({ query: 'valve', mode: 'words', explain: true, limit: 1 });
  const [passage] = bodyOf<Retrieved>(answer, 200).passages;
  expect(passage?.why).toMatchObject({ words_score: passage?.score, vectors_score: null });
});
