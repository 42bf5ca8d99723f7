import { expect, test } from 'bun:test';
import { FailuresAgain } from './support/failures-again.ts';

const printed = (lines: readonly string[]): string[] => {
  const failures = new FailuresAgain();
  return lines.flatMap((line) => failures.lines(line));
};

const RUN = [
  'a.test.ts:',
  '(pass) good [1ms]',
  'error: expected 1',
  '(fail) bad [2ms]',
  '  ^ too late',
  '',
  'b.test.ts:',
  '(pass) x',
];

test('what a failed test printed stands once more before the closing lines', () => {
  expect(printed([...RUN, '1 tests failed:', '(fail) bad [2ms]', ' 2 pass', ' 1 fail'])).toEqual([
    ...RUN,
    'What the failed tests printed:',
    '',
    'a.test.ts:',
    'error: expected 1',
    '(fail) bad [2ms]',
    '  ^ too late',
    '',
    '1 tests failed:',
    '(fail) bad [2ms]',
    ' 2 pass',
    ' 1 fail',
  ]);
});

test('of a test that prints much its last lines are kept', () => {
  const much = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
  const lines = printed([...much, '(fail) bad', ' 0 pass']);
  expect(lines).toHaveLength(1000 + 1 + 3 + 60 + 2);
  expect(lines.at(-4)).toBe('line 999');
});

test('a run without a failure is printed as it is', () => {
  const run = RUN.filter((line) => !/^(\(fail\)| {2}\^)/.test(line)).concat(' 2 pass', ' 0 fail');
  expect(printed(run)).toEqual(run);
});
