// Files that are made to harm: each ends with a state within the ceilings, and the next file is read.

import { afterAll, describe, expect, test } from 'bun:test';
import { createReader, ReaderDied, type ReadOutcome } from '../../../src/documents/content/reader-process.ts';
import { docx, nestedMail, pdf, xlsx, zip } from '../../support/files.ts';

const files = new Map<string, Uint8Array<ArrayBuffer> | string>();
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const file = files.get(new URL(request.url).pathname.slice(1));
    return file === undefined ? new Response(null, { status: 404 }) : new Response(file);
  },
});
const reader = createReader({ environment: { PATH: process.env['PATH'] } });
afterAll(async () => {
  reader.end();
  await server.stop(true);
});

type Found = { state: string; reason: string | null; text: string; pages?: number | null };

async function read(name: string, file: Uint8Array<ArrayBuffer> | string): Promise<Found> {
  const path = crypto.randomUUID();
  files.set(path, file);
  const request = { name, contentType: '', language: null, bytesMax: 100_000_000 };
  const source = { url: `${server.url.href}${path}` };
  return reader.read({ ...request, source }, describeOutcome).finally(() => files.delete(path));
}

async function describeOutcome(outcome: ReadOutcome): Promise<Found> {
  if ('unreadable' in outcome) return { ...outcome.unreadable, text: '' };
  if ('unavailable' in outcome) return { state: 'unavailable', reason: outcome.unavailable, text: '' };
  let text = '';
  for await (const chunk of outcome.chunks)
    if (chunk.kind === 'text' && chunk.format === 'text') text += chunk.text;
  const { state, reason, pages } = outcome.reading;
  return { state, reason, pages, text };
}

describe('a hostile file', () => {
  test('that inflates beyond the ceiling is refused, whatever it says of its sizes', async () => {
    const zeros = new Uint8Array(300_000_000);
    expect(await read('bomb.docx', zip({ 'word/document.xml': zeros }, { claimed: 10 }))).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('inflates to more than'),
    });
  });

  test('has no entity of its XML expanded, and nothing outside of it read', async () => {
    const head =
      '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>';
    const parts = docx([{ text: 'MARK' }], { head });
    const { text } = await read('entities.docx', parts);
    expect(text).toContain('MARK');
    expect(text).not.toContain('root:');
    expect(text.length).toBeLessThan(100);
  });

  test('that is a PDF with cycles, or cut off anywhere, ends', async () => {
    const pages = [[{ x: 50, y: 700, text: 'round and round' }]];
    expect((await read('kids.pdf', pdf(pages, { kids: '2 0 R 2 0 R' }))).text).toContain('round and round');
    expect((await read('previous.pdf', pdf(pages, { trailer: '/Prev 9' }))).text).toContain('round');
    const whole = pdf(pages);
    for (const share of [0.2, 0.5, 0.8]) {
      const { state } = await read('cut.pdf', whole.slice(0, Math.floor(whole.length * share)));
      expect(['ready', 'empty', 'failed']).toContain(state);
    }
  });

  test('that is nested deeper than any page or value is read or refused', async () => {
    expect((await read('deep.html', '<div>'.repeat(100_000))).reason).toContain('left open');
    expect((await read('deep.json', '['.repeat(200_000))).state).toBe('ready');
    const mail = await read('deep.eml', nestedMail(14, 'too deep'));
    expect(mail.text).toContain('Level 10');
    expect(mail.text).not.toContain('too deep');
  });

  test('that is random bytes is never more than a state', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    for (const kind of ['pdf', 'docx', 'xlsx', 'odt', 'html', 'csv', 'json', 'eml', 'txt', 'md']) {
      for (const start of ['', '%PDF-1.7\n', 'PK\x03\x04']) {
        const file = Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
        expect((await read(`random.${kind}`, new Uint8Array(file))).state).toMatch(
          /^(ready|empty|unsupported|failed)$/,
        );
      }
    }
  });

  test('whose text is longer than any is kept up to the ceiling, and says so', async () => {
    const { state, reason, text } = await read('long.txt', 'A line of a log that goes on.\n'.repeat(400_000));
    expect([state, text.length]).toEqual(['ready', 10_000_000]);
    expect(reason).toContain('the rest is not kept');
  });

  test('with a cell at the end of a sheet costs no sheet', async () => {
    const far = xlsx({ A: [['x']] });
    expect((await read('far.xlsx', far)).text).toBe('A\n\nx');
  });
});

test('a file that is gone has failed; a store that does not answer is waited for', async () => {
  const request = { name: 'a.txt', contentType: '', language: null, bytesMax: 1000 };
  const ask = (url: string) => reader.read({ ...request, source: { url } }, describeOutcome);
  expect(await ask(`${server.url.href}gone`)).toMatchObject({ state: 'failed' });
  const closed = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const url = closed.url.href;
  await closed.stop(true);
  const { state, reason } = await ask(`${url}?X-Amz-Signature=secret`);
  expect(state).toBe('unavailable');
  expect(reason).not.toContain('secret');
});

test('a reader that dies fails its file alone, with a reason; another one reads the next', async () => {
  let kill = (): void => undefined;
  const hanging = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      kill();
      return new Promise<Response>(() => undefined);
    },
  });
  const own = createReader({ environment: { PATH: process.env['PATH'] } });
  try {
    kill = () => process.kill(own.pid() ?? 0, 'SIGKILL');
    const request = { name: 'a.txt', contentType: '', language: null, bytesMax: 1000 };
    const dying = own.read({ ...request, source: { url: hanging.url.href } }, describeOutcome);
    await expect(dying).rejects.toThrow(ReaderDied);
    const given = { text: 'alive', format: 'text' as const };
    expect(await own.read({ ...request, source: given }, describeOutcome)).toMatchObject({ text: 'alive' });
  } finally {
    own.end();
    await hanging.stop(true);
  }
});
