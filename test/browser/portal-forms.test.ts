// Forms of the portal as a person fills them in: what is sent, what is said afterwards, and what is said of mistakes.

import { expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { bodyOf, createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { startGateway } from '../support/gateway.ts';
import { BOOTSTRAP_KEY, type RunningService, WORKSPACE } from '../support/service.ts';
import { PLAIN_HOST } from './chromium.ts';
import { describePortal, openPortal } from './portal.ts';

const BASE = `/admin/api/workspaces/${WORKSPACE}`;

/** Before a mock of the model providers. */
async function start(): Promise<RunningService> {
  const gateway = await startGateway((mockUrl) => ({
    upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
    models: {
      good: { targets: [{ upstream: 'mock', model: 'ok' }] },
      other: { targets: [{ upstream: 'mock', model: 'ok' }] },
      broken: { targets: [{ upstream: 'mock', model: 'status-500' }] },
      vectors: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: 'ok+key=embed' }] },
    },
    defaults: { chat: 'good' },
  }));
  return { ...gateway.service, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

describePortal(
  'forms of the portal',
  (portal) => {
    const call = (...[method, path, options]: Parameters<ReturnType<typeof createCaller>>) =>
      createCaller(portal().service.url)(method, path, { key: BOOTSTRAP_KEY, ...options });

    const agents = async (): Promise<{ id: string; name: string; model: string | null }[]> =>
      bodyOf<{ items: { id: string; name: string; model: string | null }[] }>(
        await call('GET', `${BASE}/agents`),
        200,
      ).items;

    const inGerman = async (page: Page, path: string): Promise<void> => {
      const { url } = portal().service;
      await page.context().addCookies([{ name: 'atrium_language', value: 'de', url }]);
      await page.goto(`${url}/admin${path}`);
    };

    const emptyBubbles = (within: Page | Locator): Promise<number> =>
      within.locator('.bubble').evaluateAll((all) => all.filter((each) => !each.textContent?.trim()).length);

    test('Enter sends a message, and Shift+Enter begins a new line', async () => {
      const { page } = await portal().open('/playground');
      const message = page.getByLabel('Message');
      await message.fill('   ');
      await message.press('Enter');
      await message.fill('first line');
      await message.press('Shift+Enter');
      await message.pressSequentially('second line');
      expect(await message.inputValue()).toBe('first line\nsecond line');
      await message.press('Enter');
      const asked = page.locator('.bubble.user');
      await asked.getByText('first line').waitFor();
      expect(await asked.allTextContents()).toEqual(['first line\nsecond line']);
      expect(await message.inputValue()).toBe('');
      await page
        .getByText(/tokens/)
        .last()
        .waitFor();
      await page.close();
    });

    test('the snippets are the calls that were made', async () => {
      const { page } = await portal().open('/playground?model=good&other=other');
      const sent: unknown[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/v1/chat/completions')) sent.push(request.postDataJSON());
      });
      await page.getByLabel('Instructions').fill("Be 'brief'.");
      await page.getByLabel('Temperature').fill('0.5');
      for (const question of ['one', 'two']) {
        await page.getByLabel('Message').fill(question);
        await page.getByLabel('Message').press('Enter');
        await page.locator('.bubble.user', { hasText: question }).nth(1).waitFor();
        await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      }
      const shown = await page.locator('.copy pre').allTextContents();
      const bodies = shown.map((text) => {
        const run = Bun.spawnSync([
          'sh',
          '-c',
          `show() { for each; do :; done; printf %s "$each"; }\n${text.replace('curl ', 'show ')}`,
        ]);
        return JSON.parse(run.stdout.toString()) as unknown;
      });
      expect(bodies).toEqual(sent.slice(2));
      expect(bodies[0]).toMatchObject({ model: 'good', temperature: 0.5, stream: true });
      await page.goto(`${portal().service.url}/admin/playground?view=embeddings`);
      const embedding = page.waitForRequest((request) => request.url().endsWith('/v1/embeddings'));
      await page.getByLabel('Texts').fill('one\ntwo');
      await page.getByRole('button', { name: 'Compare' }).click();
      const body = JSON.stringify((await embedding).postDataJSON());
      expect(await page.locator('.copy pre').textContent()).toContain(`-d '${body}'`);
      await page.close();
    });

    test('an answer that failed leaves its reason, and no empty bubble', async () => {
      const { page } = await portal().open('/playground?model=broken');
      await page.getByLabel('Message').fill('Hello');
      await page.getByLabel('Message').press('Enter');
      await page.getByRole('alert').waitFor();
      expect(await emptyBubbles(page)).toBe(0);

      const agent = { name: 'Broken', kind: 'persona', model: 'broken', instructions: '' };
      expectStatus(await call('PUT', `${BASE}/agents/broken`, { json: agent }), 200);
      await page.goto(`${portal().service.url}/admin/agents?agent=id:broken`);
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Message').fill('Hello');
      await dialog.getByLabel('Message').press('Enter');
      await dialog.getByRole('alert').waitFor();
      expect(await emptyBubbles(dialog)).toBe(0);

      await page.goto(`${portal().service.url}/admin/conversations`);
      await page.getByRole('row').nth(1).getByRole('link').first().click();
      await dialog.locator('.bubble', { hasText: 'Hello' }).waitFor();
      await dialog.locator('.mistake').first().waitFor();
      expect(await emptyBubbles(dialog)).toBe(0);
      await page.close();
    });

    test('an agent is saved once, however often the form is sent, and says so', async () => {
      const { page } = await portal().open('/agents?agent=new');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Identifier').fill('desk');
      await dialog.getByLabel('Name').fill('Desk');
      const model = dialog.getByLabel('Model');
      await model.getByRole('option', { name: 'other' }).waitFor({ state: 'attached' });
      expect(await model.getByRole('option').allTextContents()).toEqual([
        'default (good)',
        'good',
        'other',
        'broken',
      ]);
      await model.selectOption('other');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('Saved', { exact: true }).waitFor();
      expect(new URL(page.url()).searchParams.get('agent')).toBe('id:desk');
      expect(await dialog.getByLabel('Identifier').count()).toBe(0);
      await dialog.getByLabel('Name').fill('Front desk');
      await dialog.getByText('Saved', { exact: true }).waitFor({ state: 'detached' });
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('Saved', { exact: true }).waitFor();
      await page.reload();
      await dialog.getByRole('heading', { name: 'Front desk' }).waitFor();
      expect(await dialog.getByText('Saved', { exact: true }).count()).toBe(0);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('Saved', { exact: true }).waitFor();
      const made = (await agents()).filter(({ id }) => id !== 'broken');
      expect(made).toMatchObject([{ id: 'desk', name: 'Front desk', model: 'other' }]);
      await page.close();
    });

    test('a new agent or bot does not take the place of another, and a bot chooses among the agents', async () => {
      const json = { name: 'Taken', kind: 'persona', instructions: 'Stay.', model: 'gone' };
      expectStatus(await call('PUT', `${BASE}/agents/taken`, { json }), 200);
      const { page } = await portal().open('/agents?agent=new');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Identifier').fill('taken');
      await dialog.getByLabel('Name').fill('Another');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('An agent has this identifier already').first().waitFor();
      expect((await agents()).find(({ id }) => id === 'taken')?.name).toBe('Taken');
      await page.goto(`${portal().service.url}/admin/agents?agent=id:taken`);
      await dialog
        .getByRole('option', { name: 'gone (not in the catalogue)' })
        .waitFor({ state: 'attached' });
      expect(await dialog.getByLabel('Model').inputValue()).toBe('gone');

      await page.goto(`${portal().service.url}/admin/bots?bot=new`);
      await dialog.getByLabel('Identifier').fill('robot');
      await dialog.getByLabel('Events prove themselves by').selectOption('key');
      await dialog.getByLabel('Agent').selectOption({ label: 'Taken (taken)' });
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('Saved', { exact: true }).waitFor();
      await page.goto(`${portal().service.url}/admin/bots?bot=new`);
      await dialog.getByLabel('Identifier').fill('robot');
      await dialog.getByLabel('Events prove themselves by').selectOption('key');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('A bot has this identifier already').first().waitFor();
      const bot = bodyOf<{ agent_id: string }>(await call('GET', `${BASE}/bots/robot`), 200);
      expect(bot.agent_id).toBe('taken');
      await page.close();
    });

    test('what ends the own sign-in says so first', async () => {
      const { page } = await portal().open('/keys');
      const own = page.getByRole('row').filter({ hasText: 'this sign-in' });
      for (const [button, warning] of [
        ['Disable', 'you are signed out'],
        ['Revoke', 'your own sign-in: it ends too'],
        ['Rotate', 'it ends with the old key'],
      ] as const) {
        await own.getByRole('button', { name: button }).click();
        await page.getByRole('dialog').getByText(warning).waitFor();
        await page.keyboard.press('Escape');
      }
      await page.goto(`${portal().service.url}/admin/people`);
      const email = await page.locator('.account .name').first().textContent();
      const me = page.getByRole('row').filter({ hasText: email ?? '' });
      await me.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByText('This is you').waitFor();
      await page.close();
    });

    test('a mistake names the field in words, in the language of the reader', async () => {
      const { page } = await portal().open('/workspaces');
      await page.getByRole('button', { name: 'Create a workspace' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Identifier').fill('Not allowed');
      await dialog.getByRole('button', { name: 'Create a workspace' }).click();
      await dialog.getByRole('alert').getByText('Identifier: Has a character that is not allowed').waitFor();
      await inGerman(page, '/keys?new=1');
      await dialog.getByLabel('Name').fill('Schlüssel');
      await dialog.getByLabel('Anfragen je Minute').fill('1');
      await dialog.getByLabel('Budget je Monat').fill('0');
      await dialog.getByRole('button', { name: 'Schlüssel erstellen' }).click();
      const alert = dialog.getByRole('alert');
      await alert.getByText('Budget je Monat: Muss größer als 0 sein').waitFor();
      expect(await alert.textContent()).not.toMatch(/budget_per_month|Input/);
      await page.close();
    });

    test('without TLS events are sent, agents tried, and texts copied', async () => {
      const url = portal().service.url.replace('127.0.0.1', PLAIN_HOST);
      const { page } = await openPortal({ browser: portal().browser, url }, '/agents?agent=id:broken');
      expect(await page.evaluate(() => isSecureContext)).toBe(false);
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Message').fill('Hello');
      await dialog.getByLabel('Message').press('Enter');
      expect(await dialog.getByRole('alert').textContent()).not.toContain('The page failed');
      await page.goto(`${url}/admin/events`);
      await page.getByRole('button', { name: 'Send a test event' }).first().click();
      await dialog.locator('form button[type=submit]').click();
      await dialog.getByText('is durable').waitFor();
      await page.goto(`${url}/admin/playground`);
      await page.getByRole('button', { name: 'Copy' }).click();
      await page.getByText('Copied').waitFor();
      await page.close();
    });

    test('without figures there is no axis, and no time is since some minutes ago', async () => {
      const { page } = await portal().open('/models');
      const targets = page.getByRole('region', { name: 'Targets' });
      await targets.getByText(/since/).first().waitFor();
      expect((await targets.getByText(/since/).allTextContents()).join()).not.toContain('ago');
      await page.route('**/trends', async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ json: { ...(await answer.json()), backlog: [] } });
      });
      await page.goto(`${portal().service.url}/admin`);
      const backlog = page.locator('figure.chart').filter({ hasText: 'Backlog' });
      await backlog.getByText('No figures yet').waitFor();
      expect(await backlog.locator('canvas').count()).toBe(0);
      await page.goto(`${portal().service.url}/admin/library`);
      await page.getByText('No documents yet').waitFor();
      await page.goto(`${portal().service.url}/admin/library?q=pump`);
      await page.getByText('No document fits').waitFor();
      await page.close();
    });
  },
  start,
);
