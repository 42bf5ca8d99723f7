// Connections on which nothing is authorised: however many there are, uploads and the service itself go on.
import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { shared } from '../support/shared.ts';
import { BUCKET, type Connection, connect, countFiles, startTestStore, waitFor } from './fixture.ts';
import { post, renderForm, supersetForm } from './form.ts';

const store = await shared(startTestStore());

const headOf = (length: number): string => {
  const { type } = renderForm({});
  const { host } = new URL(store.endpoint);
  return `POST /${BUCKET} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n`;
};

/** A form that names its key and then stops: nobody can say whether it is authorised. */
const unfinishedForm = (): string => {
  const { head } = renderForm(supersetForm('never'));
  return `${headOf(1_000_000)}${head.slice(0, 200)}`;
};

async function connectMany(count: number, bytes: string): Promise<Connection[]> {
  const strangers: Connection[] = [];
  for (let index = 0; index < count; index += 1) {
    strangers.push(connect(store, bytes));
    if (index % 100 === 99) await once(strangers[index]?.socket as Connection['socket'], 'connect');
  }
  return strangers;
}

test('a thousand and more forms that begin and stop keep nobody from uploading', async () => {
  const strangers = await connectMany(1_100, unfinishedForm());
  expect((await post(store, supersetForm('beside-forms'))).status).toBe(204);
  await store.put('beside', 'signed');
  expect(await store.text('beside')).toBe('signed');
  for (const { socket } of strangers) socket.destroy();
});

test('of connections without a signature the oldest give way, and the one of the service stays', async () => {
  await store.put('kept', 'content');
  const before = await countFiles(store.directory);
  const upload = renderForm(supersetForm('slow-upload'));
  const legitimate = connect(store, `${headOf(upload.head.length + 5 + upload.tail.length)}${upload.head}1`);
  await waitFor('it to be authorised', async () => (await countFiles(store.directory)) === before + 1);
  const first = connect(store, unfinishedForm());
  await once(first.socket, 'connect');
  const strangers = await connectMany(1_100, unfinishedForm());
  await waitFor('the oldest to give way', () => first.isClosed());
  await store.head('kept');
  legitimate.socket.write(`2345${upload.tail}`);
  await waitFor('the upload that was authorised before', () => legitimate.answer().includes(' 204 '));
  expect(await store.text('slow-upload')).toBe('12345');
  for (const { socket } of [legitimate, ...strangers]) socket.destroy();
});

test('fields that are too many bytes, whatever they are, are refused before a file comes', async () => {
  const { socket, answer } = connect(store, headOf(50_000_000));
  const junk = `--form-boundary-7f3a\r\ncontent-disposition: form-data\r\n\r\n\r\n`.repeat(1000);
  for (let round = 0; round < 20 && answer() === ''; round += 1) {
    socket.write(junk);
    await Bun.sleep(0);
  }
  await waitFor('the refusal', () => answer().includes('MaxPostPreDataLengthExceeded'));
  socket.destroy();
});

test('a form whose fields do not arrive within ten seconds is refused', async () => {
  const { socket, answer } = connect(store, unfinishedForm());
  const drip = setInterval(() => socket.write('x'), 1_000);
  await waitFor('the refusal', () => answer().includes('RequestTimeout'));
  clearInterval(drip);
  expect(answer()).toStartWith('HTTP/1.1 400 ');
  socket.destroy();
});
