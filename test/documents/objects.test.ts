// Object keys stay inside their workspace, whatever folder and name are given.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ValidationFailure } from '../../src/core/errors.ts';
import { newId } from '../../src/core/ids.ts';
import {
  classifyKey,
  extensionOf,
  parseFolder,
  parseTemporaryKey,
  toObjectKey,
  toTemporaryKey,
} from '../../src/documents/objects.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 80 }).filter((text) => text.isWellFormed());

describe('folders', () => {
  test('outer slashes are dropped, repeated ones collapse, none is empty', () => {
    expect(parseFolder('/a//b/')).toBe('a/b');
    expect(parseFolder('')).toBe('');
    expect(parseFolder('///')).toBe('');
    expect(parseFolder(null)).toBe('');
  });

  test('traversal, control characters and more than 512 bytes are refused', () => {
    for (const folder of ['..', 'a/../b', '.', 'a/./b', 'a\tb', 'a\u0085b', 'é'.repeat(257)])
      expect(() => parseFolder(folder)).toThrow(ValidationFailure);
    expect(parseFolder('é'.repeat(256))).toBe('é'.repeat(256));
  });

  test('a canonical folder is its own canonical form', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let folder: string;
        try {
          folder = parseFolder(text);
        } catch {
          return;
        }
        expect(parseFolder(folder)).toBe(folder);
      }),
    );
  });
});

test('every object key names its document and fits into S3', () => {
  fc.assert(
    fc.property(anyText, anyText, (folderText, name) => {
      let folder: string;
      try {
        folder = parseFolder(folderText);
      } catch {
        return;
      }
      const id = newId();
      const key = toObjectKey({ workspaceId: 'w'.repeat(63), folder, id, fileType: extensionOf(name) });
      expect(classifyKey(key)).toEqual({ kind: 'document', id });
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(1024);
      expect(key.startsWith(`${'w'.repeat(63)}/`)).toBe(true);
    }),
  );
});

describe('temporary keys', () => {
  const id = crypto.randomUUID();
  test('only the own workspace and only whole identifiers name an upload', () => {
    expect(parseTemporaryKey(toTemporaryKey('acme', id), 'acme')).toEqual({ uploadId: id });
    expect(parseTemporaryKey(toTemporaryKey('acme', id), 'other')).toBe('foreign');
    expect(parseTemporaryKey(`temp/acme/../other/${id}`, 'acme')).toBeUndefined();
    expect(parseTemporaryKey(`temp/acme/${id}/x`, 'acme')).toBeUndefined();
    expect(parseTemporaryKey('acme/file.txt', 'acme')).toBe('foreign');
  });
});

test("an extension is the name's last suffix, lower-cased, or none", () => {
  expect(
    ['a.PDF', 'a.tar.gz', 'a', '.env', 'a.', 'a.b c', 'a.ünï', `a.${'x'.repeat(17)}`].map(extensionOf),
  ).toEqual(['pdf', 'gz', null, 'env', null, null, null, null]);
});
