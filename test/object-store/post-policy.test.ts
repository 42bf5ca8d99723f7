import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { assertPolicyAllows, parsePolicy } from '../../src/embedded/object-store/post-policy.ts';
import { BUCKET, errorOf, startTestStore, type TestStore } from './fixture.ts';
import { type Condition, encodePolicy, inSeconds, post, supersetForm } from './form.ts';

function judge(
  conditions: readonly Condition[],
  fields: Record<string, string>,
  expiration = inSeconds(60),
): string {
  try {
    const policy = parsePolicy(encodePolicy(conditions, expiration));
    assertPolicyAllows(policy, { fields: new Map(Object.entries(fields)), bucket: BUCKET, now: Date.now() });
    return 'allowed';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const failed = (condition: string) => `Invalid according to Policy: Policy Condition failed: ${condition}`;

describe('a condition', () => {
  test.each<[Condition, Record<string, string>, string]>([
    [{ key: 'a' }, { key: 'a' }, 'allowed'],
    [{ key: 'a' }, { key: 'A' }, failed('["eq", "$key", "a"]')],
    [{ KEY: 'a' }, { key: 'a' }, 'allowed'],
    [['eq', '$key', 'a'], { key: 'a' }, 'allowed'],
    [['eq', '$Key', 'a'], { key: 'ab' }, failed('["eq", "$key", "a"]')],
    [['starts-with', '$key', 'user/'], { key: 'user/x' }, 'allowed'],
    [['starts-with', '$key', 'user/'], { key: 'use' }, failed('["starts-with", "$key", "user/"]')],
    [['starts-with', '$key', ''], { key: 'anything' }, 'allowed'],
    [['starts-with', '$key', ''], { key: '' }, 'allowed'],
    [['starts-with', '$key', ''], {}, failed('["starts-with", "$key", ""]')],
    [['eq', '$key', ''], {}, failed('["eq", "$key", ""]')],
    [{ bucket: BUCKET }, {}, 'allowed'],
    [{ bucket: 'other' }, {}, failed('["eq", "$bucket", "other"]')],
    [{ key: 'a' }, { key: 'a', acl: 'public-read' }, 'Invalid according to Policy: Extra input fields: acl'],
    [
      { key: 'a' },
      {
        key: 'a',
        policy: '',
        signature: '',
        awsaccesskeyid: '',
        storageaccesskeyid: '',
        'x-amz-signature': '',
        'x-ignore-me': '',
      },
      'allowed',
    ],
  ])('%j on %j: %s', (condition, fields, verdict) => {
    expect(judge([condition], fields)).toBe(verdict);
  });

  test('holds as well as all the others, and each field has one', () => {
    const name = fc.constantFrom('key', 'acl', 'x-amz-meta-a', 'content-type');
    const value = fc.constantFrom('', 'a', 'ab', 'b');
    const condition = fc.tuple(fc.constantFrom('eq', 'starts-with'), name, value);
    fc.assert(
      fc.property(fc.array(condition, { maxLength: 5 }), fc.dictionary(name, value), (conditions, fields) => {
        const holds = conditions.every(([operator, field, wanted]) => {
          const given = fields[field];
          if (given === undefined) return false;
          return operator === 'eq' ? given === wanted : given.startsWith(wanted);
        });
        const isCovered = Object.keys(fields).every((field) =>
          conditions.some(([, covered]) => covered === field),
        );
        const rendered = conditions.map(([operator, field, wanted]) => [operator, `$${field}`, wanted]);
        expect(judge(rendered, fields) === 'allowed').toBe(holds && isCovered);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a policy', () => {
  test('ends at its expiration', () => {
    expect(judge([], {}, inSeconds(-0.001))).toBe('Invalid according to Policy: Policy expired.');
    expect(judge([], {}, '2099-01-01T00:00:00+02:00')).toBe('allowed');
  });

  test.each<[string, unknown]>([
    ['no JSON', 'x'],
    ['null', null],
    ['no expiration', { conditions: [] }],
    ['an expiration without a zone', { expiration: '2099-01-01T00:00:00', conditions: [] }],
    ['an expiration that is no date', { expiration: '2099-13-01T00:00:00Z', conditions: [] }],
    ['no conditions', { expiration: '2099-01-01T00:00:00Z' }],
    ['a number as a value', { expiration: '2099-01-01T00:00:00Z', conditions: [{ key: 1 }] }],
    ['an unknown operator', { expiration: '2099-01-01T00:00:00Z', conditions: [['ends-with', '$key', 'x']] }],
    ['a field without $', { expiration: '2099-01-01T00:00:00Z', conditions: [['eq', 'key', 'x']] }],
    ['half a range', { expiration: '2099-01-01T00:00:00Z', conditions: [['content-length-range', 1]] }],
    [
      'a negative range',
      { expiration: '2099-01-01T00:00:00Z', conditions: [['content-length-range', -1, 5]] },
    ],
    ['a condition that is none', { expiration: '2099-01-01T00:00:00Z', conditions: ['key'] }],
  ])('with %s is not valid', (_what, document) => {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    expect(() => parsePolicy(Buffer.from(text).toString('base64'))).toThrow('Invalid Policy');
  });

  test('is text in base64', () => {
    expect(() => parsePolicy('')).toThrow('Invalid Policy');
    expect(() => parsePolicy('{}')).toThrow('Invalid Policy');
    expect(() => parsePolicy(Buffer.of(0xff, 0xfe).toString('base64'))).toThrow('Invalid Policy');
  });
});

describe('a size range', () => {
  let store: TestStore;
  beforeAll(async () => {
    store = await startTestStore();
  });
  afterAll(() => store[Symbol.asyncDispose]());

  const upload = (size: number, ...ranges: (readonly [number | string, number | string])[]) => {
    const conditions = ranges.map(([min, max]) => ['content-length-range', min, max]);
    return post(store, supersetForm('sized', { conditions }), 'x'.repeat(size));
  };

  test('admits its bounds', async () => {
    expect((await upload(2, [2, 4])).status).toBe(204);
    expect((await upload(4, ['2', '4'])).status).toBe(204);
    expect((await upload(0, [0, 0])).status).toBe(204);
  });

  test('refuses one byte more or less, and leaves what was there', async () => {
    await upload(3, [0, 3]);
    expect(await errorOf(await upload(5, [2, 4]))).toEqual(['EntityTooLarge', 400]);
    expect(await errorOf(await upload(1, [2, 4]))).toEqual(['EntityTooSmall', 400]);
    expect(await errorOf(await upload(3, [0, 9], [0, 2]))).toEqual(['EntityTooLarge', 400]);
    expect(await errorOf(await upload(3, [0, 2], [0, 9]))).toEqual(['EntityTooLarge', 400]);
    expect(await errorOf(await upload(1, [2, 9], [0, 9]))).toEqual(['EntityTooSmall', 400]);
    expect(await errorOf(await upload(1, [0, 9], [2, 9]))).toEqual(['EntityTooSmall', 400]);
    expect(await store.text('sized')).toBe('xxx');
  });

  test('refuses a large body early, and the client that is still sending reads why', async () => {
    expect(await errorOf(await upload(30_000_000, [0, 10]))).toEqual(['EntityTooLarge', 400]);
  });
});
