// Files that are made to harm: each ends with a state within the ceilings, and the next file is read.

import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinLines, toLines } from '../../../src/documents/content/formats/pdf-lines.ts';
import { PASSAGES_MAX } from '../../../src/documents/content/limits.ts';
import { createOutline, TextFull } from '../../../src/documents/content/outline.ts';
import { createReader, ReaderDied, type ReadOutcome } from '../../../src/documents/content/reader-process.ts';
import { isAlive } from '../../../src/embedded/postgres/processes.ts';
import { eventually, freePort } from '../../support/child.ts';
import { docx, nestedMail, pdf, slowPdf, xlsx, zip } from '../../support/files.ts';

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

type Found = { state: string; reason: string | null; text: string; pages?: number | null; passages?: number };

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
  const { state, reason, pages, passages } = outcome.reading;
  return { state, reason, pages, passages, text };
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
    // Attached as files of another type, they are mails none the less.
    const attached = nestedMail(14, 'too deep').replaceAll(
      'message/rfc822',
      'application/octet-stream; name="a.eml"',
    );
    expect((await read('attached.eml', attached)).text).not.toContain('too deep');
  });

  test('that repeats a long name in every line is kept up to the ceiling', async () => {
    const values = Object.fromEntries(Array.from({ length: 20_000 }, (_, number) => [`v${number}`, number]));
    const { state, text } = await read('names.json', JSON.stringify({ ['n'.repeat(100_000)]: values }));
    expect([state, text.length]).toEqual(['ready', 10_000_000]);
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

  test('of very many pages has no more passages than a purge can delete at once, and says so', async () => {
    const { state, reason, passages } = await read('pages.txt', 'a\f'.repeat(PASSAGES_MAX + 100));
    expect([state, passages]).toEqual(['ready', PASSAGES_MAX]);
    expect(reason).toContain('those beyond are not kept');
  });

  test('has a reason that the database can hold, also where that quotes the file', async () => {
    const { state, reason } = await read('archive.docx', zip({ mimetype: 'odd\0\ntype' }));
    expect([state, reason]).toEqual(['unsupported', 'the file is an archive (odd type)']);
  });

  test('of Markdown is read in a time that grows with its length alone', async () => {
    const fences = await read('fences.md', '```\nx\n```\n'.repeat(200_000));
    expect([fences.state, fences.text.length]).toEqual(['ready', 200_000 * 3 - 2]);
    const blanks = ' '.repeat(200_000);
    const headings = await read(
      'headings.md',
      `# One${blanks}two ##\n\n#${blanks}\u2028\n\n-${blanks}\u2028`,
    );
    expect(headings.text).toStartWith('One two');
  });

  test('that is a PDF of very many lines, or of a very long one, has them put together in time that grows with them alone', () => {
    const words = Array.from({ length: 500_000 }, (_, index) => ({
      str: 'abcdefghi',
      transform: [10, 0, 0, 10, 60 * index, 700],
      width: 50,
      height: 10,
      hasEOL: false,
    }));
    expect(toLines(words).map(({ text }) => text.length)).toEqual([words.length * 10 - 1]);
    const lines = toLines(words.map((word) => ({ ...word, hasEOL: true })));
    expect(joinLines(lines).length).toBe(lines.length * 10 - 1);
  });

  test('with relationships that lead nowhere, or a format without end, is read nevertheless', async () => {
    const related = (...targets: string[]): string =>
      `<Relationships>${targets.map((target) => `<Relationship Id="${target}" Type="t/${target}" Target="${target}"/>`).join('')}</Relationships>`;
    const document = zip({
      'word/_rels/document.xml.rels': related('media/100%.png', 'http://['),
      'word/document.xml': '<document><p><t>MARK</t></p></document>',
    });
    expect((await read('odd.docx', document)).text).toBe('MARK');
    const sheet = zip({
      'xl/_rels/workbook.xml.rels': related('styles', 'sheet'),
      'xl/workbook.xml': '<workbook><sheet name="A" id="sheet"/></workbook>',
      'xl/styles': `<styleSheet><numFmt numFmtId="200" formatCode="${'['.repeat(1_000_000)}"/></styleSheet>`,
      'xl/sheet': '<worksheet><row><c><v>1</v></c></row></worksheet>',
    });
    expect((await read('odd.xlsx', sheet)).text).toBe('A\n\n1');
  });

  test('with macros has its text read, and nothing of them', async () => {
    const parts = {
      'word/document.xml': '<document><p><t>MARK</t></p></document>',
      'word/vbaProject.bin': 'Sub AutoOpen() Shell("rm")',
    };
    expect(await read('macros.docm', zip(parts))).toMatchObject({ state: 'ready', text: 'MARK' });
  });

  test('that takes long has the text kept that was read in time', () => {
    let asked = 0;
    const outline = createOutline({ takesLong: () => ++asked > 2 });
    const readAll = (): void => {
      for (let page = 0; page < 10_000; page++) {
        outline.page();
        outline.paragraph(`Page ${page}.`);
      }
    };
    expect(readAll).toThrow(TextFull);
    expect(outline.text()).toStartWith('Page 0.');
    expect(outline.pages()).toBeLessThan(100);
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
  const { state, reason } = await ask(`http://127.0.0.1:${freePort()}/?X-Amz-Signature=secret`);
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

/** Several parts of text, each marked. */
const inParts = (mark: string) => ({
  name: 'a.txt',
  contentType: '',
  language: null,
  bytesMax: 1000,
  source: { text: `${mark} `.repeat(100_000), format: 'text' as const },
});

test('a text whose reader dies after its first part is never taken for whole', async () => {
  const own = createReader({ environment: { PATH: process.env['PATH'] } });
  try {
    const dying = own.read(inParts('half'), async (outcome) => {
      if (!('reading' in outcome)) throw new Error('it has a text');
      await outcome.chunks.next();
      process.kill(own.pid() ?? 0, 'SIGKILL');
      await eventually('its end to be known', () => own.pid() === undefined);
      return outcome.chunks.next();
    });
    await expect(dying).rejects.toThrow(ReaderDied);
  } finally {
    own.end();
  }
});

test('a part that is still to come when a transaction is lost is never taken for one of the next file', async () => {
  const own = createReader({ environment: { PATH: process.env['PATH'] } });
  try {
    const lost = own.read(inParts('first'), async (outcome) => {
      if (!('reading' in outcome)) throw new Error('it has a text');
      outcome.chunks.next().catch(() => undefined);
      throw new Error('the connection was lost');
    });
    await expect(lost).rejects.toThrow('the connection was lost');
    for (const mark of ['second', 'third']) {
      const { text } = await own.read(inParts(mark), describeOutcome);
      expect(new Set(text.trim().split(' '))).toEqual(new Set([mark]));
    }
  } finally {
    own.end();
  }
});

/** Hundredths of a second for which a process has worked. */
const workedFor = (pid: number): number => {
  const [, , , , , , , , , , , , , user = '0', system = '0'] = readFileSync(
    `/proc/${pid}/stat`,
    'utf8',
  ).split(' ');
  return Number(user) + Number(system);
};

/** More than starting, loading its parsers and fetching a file takes. */
const BUSY_FOR = 200;

/** Far less than the file keeps it busy for. */
const ENDS_WITHIN_MS = 10_000;

test.skipIf(process.platform !== 'linux')(
  'a reader ends with its service, also where a file keeps it busy',
  async () => {
    files.set('busy.pdf', slowPdf(20_000));
    const module = join(import.meta.dir, '../../../src/documents/content/reader-process.ts');
    const service = `
    import { createReader } from ${JSON.stringify(module)};
    const reader = createReader({ environment: { PATH: process.env.PATH } });
    const source = { url: ${JSON.stringify(`${server.url.href}busy.pdf`)} };
    const request = { source, name: 'busy.pdf', contentType: '', language: null, bytesMax: 1e9 };
    void reader.read(request, async () => undefined);
    console.log(reader.pid());
    await new Promise(() => setInterval(() => undefined, 1000));`;
    const child = Bun.spawn([process.execPath, '-e', service], { stdout: 'pipe', stderr: 'inherit' });
    const { value } = await child.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    await eventually('the reader to be busy', () => workedFor(pid) > BUSY_FOR);
    child.kill('SIGKILL');
    await eventually('the reader to end', () => !isAlive(pid), ENDS_WITHIN_MS);
    files.delete('busy.pdf');
  },
);
