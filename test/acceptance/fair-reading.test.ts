// A file that takes long to read, whatever workspace it is from, does not keep the files of others from being read.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { slowPdf } from '../support/files.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import type { Library } from './support/library.ts';
import { createPeople } from './support/people.ts';
import { type Setting, startSetting } from './support/setting.ts';

let setting: Setting;
beforeAll(async () => {
  setting = await startSetting({ CONTENT: 'on' });
});
afterAll(() => setting.service[Symbol.asyncDispose]());

async function newLibrary(): Promise<Library> {
  const json = { id: `w-${crypto.randomUUID().slice(0, 8)}` };
  const answer = await setting.call('POST', '/admin/api/workspaces', { key: setting.adminKey, json });
  const { id: workspace } = bodyOf<{ id: string }>(answer, 201);
  const people = createPeople(setting.call, { workspace, adminKey: setting.adminKey });
  return (await people.person()).library;
}

const stateOf = async (library: Library, id: string): Promise<string> =>
  bodyOf<{ status: string }>(await library.content(id), 200).status;

test('files of one workspace are read while a slow one of another is', async () => {
  const [slow, library] = [await newLibrary(), await newLibrary()];
  // Minutes of a processor.
  const { id: slowId } = await slow.stored({ name: 'slow.pdf' }, slowPdf(40_000));
  for (const name of ['a.txt', 'b.txt']) {
    const { id } = await library.stored({ name }, 'The seal leaks.');
    await eventually(`${name} to be read`, async () => (await stateOf(library, id)) === 'ready', 110_000);
  }
  expect(await stateOf(slow, slowId)).toBe('pending');
  // Nobody waits for it any more.
  expectStatus(await slow.bin(slowId), 204);
  expectStatus(await slow.purge(slowId), 204);
}, 170_000);
