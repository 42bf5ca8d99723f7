import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createKeyText, isKeyText, shownPrefix } from '../../src/access/key-text.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('keys are 43 characters, pass their own check, and do not repeat', () => {
  const keys = Array.from({ length: 2000 }, createKeyText);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) {
    expect(key).toMatch(/^atr_[0-9A-Za-z]{39}$/);
    expect(isKeyText(key)).toBe(true);
  }
});

test('a key with one character changed, dropped or doubled is told by its checksum', () => {
  const changed = fc.record({
    position: fc.integer({ min: 4, max: 42 }),
    character: fc.constantFrom(...BASE62),
  });
  fc.assert(
    fc.property(changed, ({ position, character }) => {
      const key = createKeyText();
      const original = key.charAt(position);
      fc.pre(original !== character);
      expect(isKeyText(key.slice(0, position) + character + key.slice(position + 1))).toBe(false);
      expect(isKeyText(key.slice(0, position) + key.slice(position + 1))).toBe(false);
      expect(isKeyText(key.slice(0, position) + original + key.slice(position))).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('two neighbouring characters swapped are told by the checksum', () => {
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 41 }), (position) => {
      const key = createKeyText();
      const [left, right] = [key.charAt(position), key.charAt(position + 1)];
      fc.pre(left !== right);
      expect(isKeyText(key.slice(0, position) + right + left + key.slice(position + 2))).toBe(false);
    }),
    { numRuns: 1000 },
  );
});

test('any other text of 32 to 512 characters may be a key', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 0, maxLength: 600 }), (text) => {
      fc.pre(!text.startsWith('atr_'));
      expect(isKeyText(text)).toBe(text.length >= 32 && text.length <= 512);
    }),
  );
});

test('six characters of the secret are shown', () => {
  const key = createKeyText();
  expect(shownPrefix(key)).toBe(key.slice(0, 10));
  expect(shownPrefix('given-by-the-operator-0123456789')).toBe('given-');
});
