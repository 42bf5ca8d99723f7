// A cause is told in one line.

import { expect, test } from 'bun:test';
import { explain, unavailable } from '../../src/core/errors.ts';

const refused = new Error('connect ECONNREFUSED 127.0.0.1:9');

test.each<[what: string, error: unknown, line: string]>([
  ['a message', refused, 'connect ECONNREFUSED 127.0.0.1:9'],
  ['text of several lines', 'a\n  text', 'a text'],
  ['an error with a name', new RangeError('too much'), 'RangeError: too much'],
  ['a cause', unavailable('It is away', { cause: refused }), `It is away: ${refused.message}`],
  [
    'a cause that was told already',
    new Error(`no: ${refused.message}`, { cause: refused }),
    `no: ${refused.message}`,
  ],
  ['several at once', new AggregateError([refused, new Error('and ::1')], ''), `${refused.message}: and ::1`],
])('%s', (_what, error, line) => {
  expect(explain(error)).toBe(line);
});

test('causes that go round are told once', () => {
  const error = new Error('one');
  error.cause = new Error('two', { cause: error });
  expect(explain(error)).toBe('one: two');
});
