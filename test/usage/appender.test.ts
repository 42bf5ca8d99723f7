// Sharing an acknowledgement: what arrives together goes together, and nobody pays for another's trouble.

import { expect, test } from 'bun:test';
import { tooLarge, unavailable } from '../../src/core/errors.ts';
import { Appender } from '../../src/usage/appender.ts';
import { APPEND_GATHER_MS } from '../../src/usage/limits.ts';

/** Of a pack that is not compressed: the rest is its rows. */
const PACK_HEAD_BYTES = 6;

const row = (text: string): Buffer => Buffer.from(text);

/** A buffer whose every append is answered by the test. */
function createFakeBuffer() {
  const appends: { rows: string; resolve(): void; reject(error: Error): void }[] = [];
  const append = (pack: Uint8Array): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    appends.push({ rows: Buffer.from(pack.subarray(PACK_HEAD_BYTES)).toString(), resolve, reject });
    return promise;
  };
  return { appends, append, description: { system: 'test', destination: 'test' } };
}

/** Until everything has been sent that does not wait for the buffer. */
const turn = (): Promise<void> => Bun.sleep(2 * APPEND_GATHER_MS);

test('what arrives while an append is under way shares the next one', async () => {
  const buffer = createFakeBuffer();
  const appender = new Appender(buffer);
  const first = appender.append([row('a'), row('b')]);
  await turn();
  const others = ['c', 'd'].map((text) => appender.append([row(text)]));
  await turn();
  expect(buffer.appends.map(({ rows }) => rows)).toEqual(['ab']);
  buffer.appends[0]?.resolve();
  await first;
  await turn();
  expect(buffer.appends.map(({ rows }) => rows)).toEqual(['ab', 'cd']);
  buffer.appends[1]?.resolve();
  await Promise.all(others);
});

test('an event that finds no append under way waits for no other; behind one, events gather for a moment', async () => {
  const buffer = createFakeBuffer();
  const appender = new Appender(buffer);
  const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const first = appender.append([row('a')]);
  await round();
  expect(buffer.appends.map(({ rows }) => rows)).toEqual(['a']);
  const behind = appender.append([row('b')]);
  buffer.appends[0]?.resolve();
  await first;
  const later = appender.append([row('c')]);
  await turn();
  expect(buffer.appends.map(({ rows }) => rows)).toEqual(['a', 'bc']);
  buffer.appends[1]?.resolve();
  await Promise.all([behind, later]);
  const alone = appender.append([row('d')]);
  await round();
  buffer.appends[2]?.resolve();
  await alone;
});

test('when the buffer is away, those that wait are told with the first', async () => {
  const buffer = createFakeBuffer();
  const appender = new Appender(buffer);
  const first = appender.append([row('a')]);
  await turn();
  const behind = appender.append([row('b')]);
  const answers = Promise.allSettled([first, behind]);
  buffer.appends[0]?.reject(unavailable('away'));
  for (const answer of await answers) expect(answer).toMatchObject({ reason: { kind: 'unavailable' } });
  expect(buffer.appends.length).toBe(1);
  const later = appender.append([row('c')]);
  await turn();
  buffer.appends[1]?.resolve();
  await later;
});

test('a pack that is refused for itself is nobody else’s trouble', async () => {
  const buffer = createFakeBuffer();
  const appender = new Appender(buffer);
  const large = appender.append([row('large')]);
  await turn();
  const small = appender.append([row('small')]);
  buffer.appends[0]?.reject(tooLarge('too large'));
  await expect(large).rejects.toMatchObject({ kind: 'too-large' });
  await turn();
  buffer.appends[1]?.resolve();
  await small;
});

/** Of what is refused at once, and does not wait for the buffer. */
const refusalOf = (appended: Promise<void>): Promise<string> =>
  Promise.race([
    appended.then(
      () => 'stored',
      ({ kind }) => kind,
    ),
    turn().then(() => 'waits'),
  ]);

test('only so many bytes may wait: beyond, events are refused until there is room again', async () => {
  const buffer = createFakeBuffer();
  const appender = new Appender(buffer, 4);
  const taken = [appender.append([row('aaaa')]), appender.append([row('b')])];
  for (let round = 0; round < 3; round++)
    expect(await refusalOf(appender.append([row('c')]))).toBe('unavailable');
  await turn();
  buffer.appends[0]?.resolve();
  await Promise.all(taken);
  const away = [appender.append([row('dddd')])];
  await turn();
  away.push(appender.append([row('e')]));
  expect(await refusalOf(appender.append([row('f')]))).toBe('unavailable');
  const answers = Promise.allSettled(away);
  buffer.appends[1]?.reject(unavailable('away'));
  await answers;
  await turn();
  const again = [appender.append([row('gggg')]), appender.append([row('h')])];
  await turn();
  buffer.appends[2]?.resolve();
  await Promise.all(again);
  expect(buffer.appends.map(({ rows }) => rows)).toEqual(['aaaab', 'dddd', 'ggggh']);
});
