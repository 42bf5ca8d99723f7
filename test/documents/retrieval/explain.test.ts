// Why passages were found, of long passages in every script: other work of the event loop goes on, and the work ends with its caller.

import { describe, expect, test } from 'bun:test';
import { createExplainer } from '../../../src/documents/retrieval/explain.ts';
import { createStemmer } from '../../../src/documents/retrieval/stems.ts';
import { eventually } from '../../support/child.ts';
import { testDatabase } from '../../support/database.ts';
import { shareHeld } from '../../support/event-loop.ts';
import { shared } from '../../support/shared.ts';
import { inWorkspace, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());
const retrieval = retrievalIn(sql);
const { explain, inTurn } = createExplainer({ sql, stemmer: createStemmer() });

const PASSAGES = 40;
const LENGTH = 4000;
const fill = (text: string, length: number): string =>
  text.repeat(Math.ceil(length / text.length)).slice(0, length);
/** Different words, that no other passage has. */
const words = (passage: number): string =>
  fill(Array.from({ length: 900 }, (_, at) => (passage * 900 + at + 46_656).toString(36)).join(' '), LENGTH);

describe('many long passages hold the event loop for a small part of the time that they take', () => {
  test.each([
    ['Thai', (_: number) => fill('ระบบปั๊มน้ำต้องเปลี่ยนไส้กรองทุกห้าร้อยชั่วโมงและตรวจสอบแรงดันก่อนเปิดเครื่อง', LENGTH)],
    ['single Thai letters', () => fill('ก a ข b ', LENGTH)],
    ['Khmer', () => fill('ប្រព័ន្ធបូមទឹកត្រូវផ្លាស់ប្តូរតម្រងរៀងរាល់ប្រាំរយម៉ោង', LENGTH)],
    ['Chinese', () => fill('水泵的过滤器每五百小时更换一次并在启动前检查压力由授权技术人员操作', LENGTH)],
    ['words', words],
  ])('%s', async (_, textOf) => {
    const viewer = inWorkspace(`w-${crypto.randomUUID()}`);
    for (const language of ['en', 'de', 'fr', 'tr', 'ar', 'ru', 'hi', 'es'])
      await retrieval.store(viewer, language, 'A pump.');
    const passages = Array.from({ length: PASSAGES }, (_, at) => ({ text: textOf(at), heading: null }));
    const query = fill(textOf(0), 8192);
    const explainAll = () => explain(viewer, query, passages);
    const [first] = await explainAll();
    expect(first?.matches.length).toBeGreaterThan(0);
    expect(await shareHeld(explainAll)).toBeLessThan(0.25);
  });
});

test('the work ends when its caller leaves', async () => {
  const leaving = new AbortController();
  const passages = Array.from({ length: PASSAGES }, () => ({ text: fill('ก a ', LENGTH), heading: null }));
  const explaining = explain(inWorkspace('acme'), 'ก', passages, leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(explaining).rejects.toThrow('gone');
});

test('one answer of a workspace is explained at a time, and that of another does not wait for it', async () => {
  const running: string[] = [];
  const gate = Promise.withResolvers<void>();
  const answer = (workspaceId: string) => async () => {
    running.push(workspaceId);
    await gate.promise;
  };
  const many = Array.from({ length: 40 }, () => inTurn('busy', answer('busy')));
  const quiet = inTurn('quiet', answer('quiet'));
  await eventually('the answer of the other workspace to begin', () => running.includes('quiet'));
  expect(running).toEqual(['busy', 'quiet']);
  gate.resolve();
  await Promise.all([...many, quiet]);
  expect(running).toHaveLength(41);
});

test('words of scripts without blanks that touch are one place; others are places of their own', async () => {
  const passages = ['ระบบปั๊มน้ำ', '关闭水泵'].map((text) => ({ text, heading: null }));
  const [thai, chinese] = await explain(inWorkspace('acme'), 'ระบบปั๊มน้ำ 关闭 水泵', passages);
  expect(thai?.matches).toEqual([{ start: 0, end: [...'ระบบปั๊มน้ำ'].length }]);
  expect(chinese?.matches).toEqual([
    { start: 0, end: 2 },
    { start: 2, end: 4 },
  ]);
});
