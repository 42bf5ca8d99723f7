// What a reading may take: a file that takes more ends the process that reads it, with the reason.

import { expect, test } from 'bun:test';
import { createReader, ReaderDied } from '../../../src/documents/content/reader-process.ts';
import { isAlive } from '../../../src/embedded/postgres/processes.ts';
import { eventually } from '../../support/child.ts';
import { bombPdf, slowPdf } from '../../support/files.ts';

const NONE = Number.MAX_SAFE_INTEGER;
const UNLIMITED = { memoryBytesMax: NONE, workedMsMax: NONE, elapsedMsMax: NONE };

const CEILINGS = [
  {
    ceiling: 'of memory',
    // More than a process takes for other files, and much less than this one needs.
    ceilings: { ...UNLIMITED, memoryBytesMax: 500_000_000 },
    file: { name: 'bomb.pdf', content: bombPdf },
    reason: 'the file needs too much memory to be read',
  },
  {
    ceiling: 'of processor time',
    ceilings: { ...UNLIMITED, workedMsMax: 1000 },
    file: { name: 'slow.pdf', content: () => slowPdf(5000) },
    reason: 'the file takes too long to be read',
  },
  {
    ceiling: 'of time by the clock',
    ceilings: { ...UNLIMITED, elapsedMsMax: 1000 },
    file: { name: 'slow.pdf', content: () => slowPdf(5000) },
    reason: 'the file takes too long to be read',
  },
];

test.each(CEILINGS)(
  'a file that exceeds the ceiling $ceiling ends its reader with a reason',
  async ({ ceilings, file: { name, content }, reason }) => {
    const bytes = content();
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(bytes) });
    const reader = createReader({ environment: { PATH: process.env['PATH'] }, ceilings });
    try {
      const request = { name, contentType: '', language: null, bytesMax: 100_000_000 };
      const reading = reader.read({ ...request, source: { url: server.url.href } }, async (read) => read);
      const pid = reader.pid() ?? 0;
      const outcome: unknown = await reading.catch((error) => error);
      expect(outcome).toBeInstanceOf(ReaderDied);
      expect(outcome).toMatchObject({ message: reason });
      await eventually('its process to be gone', () => !isAlive(pid));
    } finally {
      reader.end();
    }
  },
);
