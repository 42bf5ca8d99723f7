// What comes out of files that are hard to read; docs/reference/reading.md shows the same.

import { expect, test } from 'bun:test';
import { createOutline } from '../../../src/documents/content/outline.ts';
import { readFile } from '../../../src/documents/content/read-file.ts';
import { HARD_FILES } from '../../support/hard-files.ts';

test.each(HARD_FILES.map((each) => [`${each.format}: ${each.hard}`, each] as const))(
  '%s',
  async (_title, { name, file, text }) => {
    const content = file();
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const outline = createOutline();
    await readFile({ bytes, name, contentType: '' }, outline);
    expect(outline.text()).toBe(text);
  },
);
