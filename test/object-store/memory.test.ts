import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { type ChildStore, startChildStore } from './child-store.ts';
import { BUCKET, callsBy, createClient, createDirectory } from './fixture.ts';
import { renderForm, supersetForm } from './form.ts';

const MiB = 1024 * 1024;
const SIZE_BYTES = 256 * MiB;
const ALLOWED_BYTES = 64 * MiB;
const BLOCK = crypto.getRandomValues(new Uint8Array(64 * 1024));

let directory: string;
let child: ChildStore;
let baseBytes: number;
beforeAll(async () => {
  directory = await createDirectory();
  child = await startChildStore(directory);
  await callsBy(createClient(child.endpoint)).createBucket();
  baseBytes = await child.peakBytes();
});
afterAll(async () => {
  await child.kill();
  await rm(directory, { recursive: true, force: true });
});

function connect(url: URL): Socket {
  return createConnection({ host: url.hostname, port: Number(url.port) });
}

/** Sends the head, 256 MiB and the tail as fast as they are taken; answers the status line. */
async function send(url: URL, head: string, tail: string): Promise<string> {
  const socket = connect(url);
  const answer = once(socket, 'data');
  socket.write(head);
  for (let sent = 0; sent < SIZE_BYTES; sent += BLOCK.length) {
    if (!socket.write(BLOCK)) await once(socket, 'drain');
  }
  socket.write(tail);
  const [data] = await answer;
  socket.destroy();
  return String(data).split('\r\n', 1)[0] ?? '';
}

async function etagOf(Key: string): Promise<string | undefined> {
  return (await callsBy(createClient(child.endpoint)).head(Key)).ETag;
}

const hash = createHash('md5');
for (let hashed = 0; hashed < SIZE_BYTES; hashed += BLOCK.length) hash.update(BLOCK);
const etag = `"${hash.digest('hex')}"`;

test('uploading 256 MiB by form takes less than 64 MiB of memory', async () => {
  const url = new URL(child.endpoint);
  const { head, tail, type } = renderForm(supersetForm('form'));
  const length = head.length + SIZE_BYTES + tail.length;
  const request = `POST /${BUCKET} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;
  expect(await send(url, request + head, tail)).toBe('HTTP/1.1 204 No Content');
  expect(await etagOf('form')).toBe(etag);
  expect((await child.peakBytes()) - baseBytes).toBeLessThan(ALLOWED_BYTES);
});

test('uploading 256 MiB by PUT takes less than 64 MiB of memory', async () => {
  const client = createClient(child.endpoint);
  const url = new URL(await getSignedUrl(client, new PutObjectCommand({ Bucket: BUCKET, Key: 'put' })));
  const request = `PUT ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: ${SIZE_BYTES}\r\n\r\n`;
  expect(await send(url, request, '')).toBe('HTTP/1.1 200 OK');
  expect(await etagOf('put')).toBe(etag);
  expect((await child.peakBytes()) - baseBytes).toBeLessThan(ALLOWED_BYTES);
});

test('downloads of 256 MiB take less than 64 MiB of memory, also when their readers stand still', async () => {
  const client = createClient(child.endpoint);
  const url = new URL(await getSignedUrl(client, new GetObjectCommand({ Bucket: BUCKET, Key: 'form' })));
  const request = `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`;
  const idle = Array.from({ length: 10 }, () => connect(url));
  for (const socket of idle) {
    socket.write(request);
    await once(socket, 'data');
    socket.pause();
  }
  const read = createHash('md5');
  const response = await fetch(url);
  for await (const chunk of response.body ?? []) read.update(chunk);
  expect(`"${read.digest('hex')}"`).toBe(etag);
  for (const socket of idle) socket.destroy();
  expect((await child.peakBytes()) - baseBytes).toBeLessThan(ALLOWED_BYTES);
});
