// What is made durable is there after a loss of power, under its name.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, replaceFile } from '../../src/core/durable.ts';
import { missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';

const missing = missingFaultyDisk();

test.skipIf(missing !== undefined)(
  missing ?? 'folders that were made and files that were replaced survive, with the last content',
  async () => {
    await using disk = await mountFaultyDisk();
    makeFolder(join(disk.path, 'a/b'));
    for (const content of ['first', 'second']) {
      replaceFile(join(disk.path, 'a/b/file'), content);
      expect(readFileSync(join(await disk.survivor(), 'a/b/file'), 'utf8')).toBe(content);
    }
  },
);
