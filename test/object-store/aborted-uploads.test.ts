import { describe, expect, test } from 'bun:test';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, type Connection, connect, countFiles, startTestStore, waitFor } from './fixture.ts';
import { inSeconds, renderForm, supersetForm } from './form.ts';

const store = await shared(startTestStore());

function renderHead(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>>,
): string {
  const lines = Object.entries({ host: new URL(store.endpoint).host, ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

type Upload = Connection & { tail: string };

/** Begins a form upload of so many bytes behind a first `0`, and sends it up to that one. */
function beginUpload(fields: Record<string, string>, sizeBytes: number): Upload {
  const { head, tail, type } = renderForm(fields);
  const connection = connect(store);
  const length = Buffer.byteLength(head) + 1 + sizeBytes + Buffer.byteLength(tail);
  const request = renderHead('POST', `/${BUCKET}`, { 'content-type': type, 'content-length': length });
  connection.socket.write(`${request}${head}0`);
  return { ...connection, tail };
}

/** Files that no object has. */
const countUploads = async (): Promise<number> =>
  (await countFiles(store.directory)) - (await listKeys()).length;
const uploadsAre = (count: number) =>
  waitFor(`${count} uploads under way`, async () => (await countUploads()) === count);

async function listKeys(): Promise<(string | undefined)[]> {
  const { Contents } = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
  return (Contents ?? []).map(({ Key }) => Key);
}

describe('an upload that is cut off', () => {
  test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'by %s in a form leaves nothing',
    async (ending) => {
      const { socket } = beginUpload(supersetForm('cut-form'), 1_000_000);
      socket.write('x'.repeat(300_000));
      await uploadsAre(1);
      socket[ending]();
      await uploadsAre(0);
      socket.destroy();
      expect(await listKeys()).not.toContain('cut-form');
    },
  );

  test('behind the file but before the end of the form leaves nothing', async () => {
    const { socket, tail } = beginUpload(supersetForm('cut-late'), 7);
    socket.write(`content${tail.slice(0, -6)}`);
    await uploadsAre(1);
    socket.destroy();
    await uploadsAre(0);
  });

  test('in a PUT leaves what was there', async () => {
    await store.put('cut-put', 'earlier');
    const url = new URL(
      await getSignedUrl(store.client, new PutObjectCommand({ Bucket: BUCKET, Key: 'cut-put' })),
    );
    for (const headers of [{ 'content-length': 1_000_000 }, { 'transfer-encoding': 'chunked' }]) {
      const { socket } = connect(store);
      socket.write(`${renderHead('PUT', url.pathname + url.search, headers)}400\r\n${'x'.repeat(0x300)}`);
      await uploadsAre(1);
      socket.destroy();
      await uploadsAre(0);
    }
    expect(await store.text('cut-put')).toBe('earlier');
  });

  test('does not disturb others', async () => {
    const { socket } = beginUpload(supersetForm('cut-beside'), 1_000_000);
    const other = beginUpload(supersetForm('whole-beside'), 9);
    await uploadsAre(2);
    socket.destroy();
    await uploadsAre(1);
    other.socket.write(`123456789${other.tail}`);
    await waitFor('the answer', () => other.answer().includes(' 204 '));
    other.socket.destroy();
    expect(await store.text('whole-beside')).toBe('0123456789');
  });
});

describe('an upload that began in time', () => {
  /** An upload whose form expires soon. One that a slow machine begins too late has more time at the next try. */
  async function beginInTime(key: string, validMs = 2000): Promise<{ upload: Upload; expiresMs: number }> {
    const expiresMs = Date.now() + validMs;
    const upload = beginUpload(supersetForm(key, { expiration: new Date(expiresMs).toISOString() }), 9);
    const isBegun = async () => (await countUploads()) === 1;
    await waitFor('the upload, or its refusal', async () => upload.answer() !== '' || (await isBegun()));
    if (await isBegun()) return { upload, expiresMs };
    expect(upload.answer()).toContain('Policy expired');
    upload.socket.destroy();
    return beginInTime(key, 2 * validMs);
  }

  test('may end after its form has expired', async () => {
    const { upload, expiresMs } = await beginInTime('slow');
    await waitFor('the expiry', () => Date.now() > expiresMs);
    upload.socket.write(`123456789${upload.tail}`);
    await waitFor('the answer', () => upload.answer().includes(' 204 '));
    upload.socket.destroy();
    expect(await store.text('slow')).toBe('0123456789');
  });
});

describe('a refusal', () => {
  test('reaches a client that waits for 100 Continue before it sends anything', async () => {
    const { head, type } = renderForm(supersetForm('k', { expiration: inSeconds(-1) }));
    const refused = connect(store);
    const put = { 'content-length': 5_000_000, expect: '100-continue' };
    refused.socket.write(renderHead('PUT', `/${BUCKET}/key`, put));
    await waitFor('the refusal', () => refused.answer().includes('AccessDenied'));
    expect(refused.answer()).toStartWith('HTTP/1.1 403 ');
    expect(refused.answer().toLowerCase()).toContain('connection: close');
    refused.socket.destroy();
    const form = connect(store);
    form.socket.write(renderHead('POST', `/${BUCKET}`, { ...put, 'content-type': type }));
    await waitFor('the invitation', () => form.answer().includes('100 Continue'));
    form.socket.write(`${head}0`);
    await waitFor('the refusal', () => form.answer().includes('Policy expired'));
    form.socket.destroy();
  });

  test('lets the connection be used again', async () => {
    const { socket, answer } = connect(store);
    socket.write(`${renderHead('PUT', `/${BUCKET}/key`, { 'content-length': 5 })}01234`);
    await waitFor('the refusal', () => answer().includes('</Error>'));
    socket.write(renderHead('GET', `/${BUCKET}/key`, {}));
    await waitFor('the second one', () => answer().split('</Error>').length === 3);
    socket.destroy();
  });
});

describe('the store survives', () => {
  test('forms that are no forms, cut anywhere', async () => {
    const { head, tail, type } = renderForm(supersetForm('fuzzed'));
    const whole = `${head}content${tail}`;
    const bodies = [
      ...Array.from({ length: 60 }, (_, step) => whole.slice(0, Math.floor((whole.length * step) / 60))),
      ...Array.from({ length: 60 }, (_, step) => whole.slice(Math.floor((whole.length * step) / 60))),
      whole.replaceAll('\r\n', '\n'),
      whole.replaceAll('name=', 'nome='),
      whole.replaceAll('"', ''),
      whole.replaceAll(': form-data', ''),
      whole.replace('name="file"', 'name="file"; filename="\0"; filename*=utf-8\'\'%00'),
      `${'--form-boundary-7f3a\r\n'.repeat(2000)}${whole}`,
      `${'a: b\r\n'.repeat(20_000)}${whole}`,
    ];
    const answers = bodies.map((body) =>
      fetch(`${store.endpoint}/${BUCKET}`, { method: 'POST', body, headers: { 'content-type': type } }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    await uploadsAre(0);
    await store.put('alive', 'x');
    await store.head('alive');
  });
});
