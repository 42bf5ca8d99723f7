// Several processes behind one port: an event that reaches more than one is answered once, and all know the same bots.

import { expect, test } from 'bun:test';
import { eventually, freePort } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import {
  createSigner,
  isReplay,
  messageEvent,
  registerBot,
  replyOf,
  serveKeys,
  spaceEvent,
} from '../support/bots.ts';
import { expectStatus } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting({ PROCESSES: '2', PORT: String(freePort()) }));
const signer = await createSigner();
const keys = await shared(serveKeys(signer));
const bot = await registerBot(setting, keys.url, { welcome_text: 'one' });

/** Each on a connection of its own, so that the kernel deals them out to all processes. */
const sendOften = async (event: object, times: number) => {
  const headers = { authorization: `Bearer ${await signer.token()}`, connection: 'close' };
  return Promise.all(
    Array.from({ length: times }, () => setting.call('POST', bot.path, { headers, json: event })),
  );
};

test('messages that come twenty times at once are answered once each', async () => {
  // The first look at a new bot may find it unknown where the notice of its making is still on its way.
  await eventually('every process to know the bot', async () =>
    (await sendOften(spaceEvent('APP_HOME'), 24)).every(({ status }) => status === 200),
  );
  for (let round = 0; round < 10; round++) {
    const event = messageEvent(`round ${round}`);
    const answers = await sendOften(event, 20);
    const texts = new Set(answers.map((answer) => replyOf(answer).text));
    expect([...texts]).toEqual([expect.stringContaining(`round ${round}`)]);
    const later = await sendOften(event, 4);
    expect(later.map(isReplay)).toEqual([true, true, true, true]);
    expect(new Set(later.map((answer) => replyOf(answer).text))).toEqual(texts);
  }
});

test('a changed registration holds in every process within moments', async () => {
  for (const text of ['two', 'three']) {
    const verification = { mode: 'project_number', audience: '123456789012', jwks: keys.url };
    expectStatus(await bot.put({ verification, welcome_text: text }), 200);
    await eventually(
      'every process to say so',
      async () => {
        const event = spaceEvent('ADDED_TO_SPACE', { eventTime: crypto.randomUUID() });
        const said = (await sendOften(event, 12)).map((answer) => replyOf(answer).text);
        return said.every((each) => each === text);
      },
      15_000,
    );
  }
  const path = `/admin/api/workspaces/${setting.workspace}/bots/${bot.id}`;
  expectStatus(await setting.call('DELETE', path, { key: setting.adminKey }), 204);
  await eventually(
    'no process to know the bot',
    async () => (await sendOften(spaceEvent('ADDED_TO_SPACE'), 12)).every(({ status }) => status === 404),
    15_000,
  );
});
