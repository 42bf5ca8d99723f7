// As a person who tries out models, agents and bots in the portal, and reads what was said.

import { expect, test } from 'bun:test';
import { createBotClient, createSigner, PROJECT } from '../acceptance/support/bots.ts';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';
import { describePortal, unexpected } from './portal.ts';

describePortal('models and conversations in the portal', (portal) => {
  test('a model answers as it writes, two answer side by side, and the call can be copied', async () => {
    const opened = await portal().open('/playground');
    const { page } = opened;
    await page.getByLabel('Message').fill('Good morning, <b>model</b>');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.bubble', { hasText: 'Echo: Good morning, <b>model</b>' }).waitFor();
    await page.getByText(/first token after/).waitFor();
    await page.getByLabel('Compare two models').check();
    await page.getByLabel('Second model').waitFor();
    await page.getByLabel('Message').fill('again');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.bubble', { hasText: 'Echo: again' }).nth(1).waitFor();
    expect(new URL(page.url()).searchParams.get('other')).toBe('local-echo');
    const code = page.locator('.copy pre').first();
    expect(await code.textContent()).toContain(`curl ${portal().service.url}/v1/chat/completions`);
    await page.locator('.section').getByLabel('Language').selectOption('Python');
    expect(await code.textContent()).toContain('client.chat.completions.create(');
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('texts that share their spelling are more alike than others', async () => {
    const { page } = await portal().open('/playground?view=embeddings');
    await page.getByLabel('Texts').fill('invoice of May\ninvoice of June\nlighthouse');
    await page.getByRole('button', { name: 'Compare' }).click();
    const row = page.locator('.matrix tbody tr').first().locator('td');
    await row.nth(2).waitFor();
    const [own, alike, other] = (await row.allTextContents()).map(Number);
    expect(own).toBe(1);
    expect(alike).toBeGreaterThan(other ?? 1);
    await page.close();
  });

  test('a model of the catalogue is called from its row', async () => {
    const { page } = await portal().open('/models');
    const row = page.getByRole('row').filter({ hasText: 'local-echo' }).first();
    await row.getByRole('button', { name: 'Test' }).click();
    await row.getByText(/answered in/).waitFor();
    await row.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get('model')).toBe('local-echo');
    await page.close();
  });

  test('an agent is made and tried out beside its form, and a person goes on in its conversation', async () => {
    const { page } = await portal().open('/agents');
    await page.getByRole('button', { name: 'Add an agent' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Identifier').fill('reception');
    await dialog.getByLabel('Name').fill('Reception');
    await dialog.getByLabel('Kind').selectOption('bot');
    await dialog.getByLabel('Replies').fill('open => We open at nine.\nAsk a colleague.');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByLabel('Message').fill('When do you open?');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('We open at nine.', { exact: true }).waitFor();
    await dialog.getByRole('link', { name: 'Open the conversation' }).click();
    await page.getByLabel('Answer as a person').fill('And on Sundays at ten.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.bubble', { hasText: 'And on Sundays at ten.' }).waitFor();
    await page.reload();
    await page.locator('.bubble', { hasText: 'And on Sundays at ten.' }).waitFor();
    await page.close();
  });

  test('a bot is registered, its address shown, and a test event answered', async () => {
    const { page } = await portal().open('/bots');
    await page.getByRole('button', { name: 'Register a bot' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Identifier').fill('desk');
    await dialog.getByLabel('Events prove themselves by').selectOption('key');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(`${portal().service.url}/chatapp/${WORKSPACE}/desk`).waitFor();
    await dialog.getByLabel('Message').fill('Hello');
    await dialog.getByRole('button', { name: 'Send the test event' }).click();
    await dialog.getByText('The bot answered').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('row').filter({ hasText: 'desk' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No bots yet').waitFor();
    await page.close();
  });

  test('a test event of a bot with tokens is signed, and one whose keys cannot be had says what a real one is answered', async () => {
    const { service } = portal();
    const call = createCaller(service.url);
    using nowhere = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(null, { status: 500 }),
    });
    const { jwk } = await createSigner();
    for (const [id, jwks] of [
      ['signed', { keys: [jwk] }],
      ['keyless', `http://127.0.0.1:${nowhere.port}/keys`],
    ] as const) {
      const client = createBotClient({ call, workspace: WORKSPACE, adminKey: BOOTSTRAP_KEY }, id);
      const verification = { mode: 'project_number', audience: PROJECT, jwks };
      expectStatus(await client.put({ verification, welcome_text: 'Hello' }), 200);
    }
    const { page } = await portal().open('/bots');
    for (const [id, said] of [
      ['signed', 'Echo: Are you there?'],
      ['keyless', 'A real event would be answered with 503'],
    ] as const) {
      await page.goto(`${service.url}/admin/bots?bot=id:${id}`);
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Message').fill('Are you there?');
      await dialog.getByRole('button', { name: 'Send the test event' }).click();
      await dialog.getByText(said).first().waitFor();
      await dialog.getByText('What was sent').click();
      await dialog.getByText('spaces/test-').first().waitFor();
    }
    await page.close();
  });
});
