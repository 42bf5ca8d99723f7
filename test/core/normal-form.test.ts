// Normalisation is that of the engine, in time that grows with the text.

import { expect, test } from 'bun:test';
import { toNormalForm } from '../../src/core/normal-form.ts';

const FORMS = ['NFC', 'NFKC', 'NFKD'] as const;

test.each(FORMS)('%s of texts that people write is what the engine makes of them', (form) => {
  const texts = [
    '',
    'é',
    'ﬁ '.repeat(100),
    `é${'\u0323\u0301'.repeat(14)}한글`,
    '\ud800'.repeat(100),
    'ｶﾞ'.repeat(50),
  ];
  for (const text of texts) expect(toNormalForm(text, form)).toBe(text.normalize(form));
});

test.each(FORMS)('%s of a long run of marks is its own normal form', (form) => {
  for (const marks of ['\u0323\u0301', '\u0344', '\uff9e', '\u0301\u0316\u0345']) {
    const once = toNormalForm(`a${marks.repeat(100)}b`, form);
    expect(once.normalize(form)).toBe(once);
  }
});

test.each(FORMS)(
  '%s of thirty times as many marks as the engine takes does not take 900 times as long',
  (form) => {
    // Processor time, because other work on the machine decides the rest.
    const timeOf = (marks: number, normalise: (text: string) => string): number => {
      const before = process.cpuUsage();
      normalise(`a${'\u0301\u0316'.repeat(marks / 2)}`);
      return process.cpuUsage(before).user;
    };
    const byEngine = timeOf(16_000, (text) => text.normalize(form));
    expect(timeOf(480_000, (text) => toNormalForm(text, form)) / byEngine).toBeLessThan(100);
  },
);
