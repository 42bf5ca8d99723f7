// As a person who opens the portal for the first time, by mouse and by keyboard.

import { expect, test } from 'bun:test';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';
import { describePortal, unexpected } from './portal.ts';

describePortal('the portal in a browser', (portal) => {
  test('the sign-in refuses a wrong key with a sentence, and goes on to the page that was asked for', async () => {
    const { page } = await portal().browser.open(`${portal().service.url}/admin/keys`);
    await page.getByLabel('Key').fill('not-a-key-of-this-service-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The API key is unknown, expired or revoked').waitFor();
    await page.getByLabel('Key').fill(BOOTSTRAP_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie]))).not.toContain(
      'atrium_session',
    );
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Atrium' }).waitFor();
    await page.close();
  });

  test('while the service does not answer the page says so, and goes on by itself', async () => {
    const { page } = await portal().open('/people');
    const heading = page.getByRole('heading', { name: 'Health', level: 1 });
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('E-mail').fill('offline@example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The service does not answer. This page goes on').waitFor();
    await page.context().setOffline(false);
    await page.getByText('The service does not answer. This page goes on').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: 'offline@example.com' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Health' }).click();
    await heading.waitFor();
    await page.close();
  });

  test('a person without administrative rights sees their own part, and nothing of the administration', async () => {
    const made = await fetch(`${portal().service.url}/admin/api/workspaces/${WORKSPACE}/keys`, {
      method: 'POST',
      headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'Grace',
        scopes: ['documents:read', 'models'],
        user_email: 'grace@example.com',
        limits: { requests_per_minute: 60 },
      }),
    });
    const { key } = (await made.json()) as { key: string };
    const { page } = await portal().open('', { key });
    await page.getByText('60 of 60 left').waitFor();
    const links = await page
      .getByRole('navigation', { name: 'Pages', exact: true })
      .getByRole('link')
      .allTextContents();
    expect(links).toEqual(['Home', 'Library', 'Knowledge', 'Playground']);
    await page.goto(`${portal().service.url}/admin/keys`);
    await page.getByText('The API key lacks the scope admin').waitFor();
    await page.close();
  });

  test('a key is created, rotated, disabled and revoked', async () => {
    const { page } = await portal().open('/keys');
    const row = page.getByRole('row').filter({ hasText: 'for rotation' });
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('for rotation');
    await page.getByLabel('Budget per month').fill('20');
    await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await row.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled').waitFor();
    await row.getByRole('button', { name: 'Enable' }).click();
    await row.getByRole('button', { name: 'Disable' }).waitFor();
    const prefix = await row.locator('code').textContent();
    await row.getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('The old key stays valid').selectOption('not at all');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    // Both keys have the name: the list with the new one may take a moment.
    await row
      .filter({ hasNotText: prefix ?? '' })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    await page.close();
  });

  test('a mistake of a form stands beside its field, and Escape gives the focus back', async () => {
    const { page } = await portal().open('/workspaces');
    const button = page.getByRole('button', { name: 'Create a workspace' });
    await button.click();
    await page.getByLabel('Identifier').fill('Not A Name');
    await page.getByRole('dialog').getByRole('button', { name: 'Create a workspace' }).click();
    await page.getByLabel('Identifier').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.close();
  });

  test('a person with a name of markup is shown as text', async () => {
    const name = '<img src=x onerror="document.title=1"> \u202egnp.exe';
    const opened = await portal().open('/people');
    const { page } = opened;
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('E-mail').fill('hostile@example.com');
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: 'onerror' }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('back, forward and reload keep the page', async () => {
    const { page } = await portal().open('');
    const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Health' }).click();
    await heading('Health');
    await page.getByRole('link', { name: 'People' }).click();
    await heading('People');
    await page.goBack();
    await heading('Health');
    await page.reload();
    await heading('Health');
    await page.goForward();
    await heading('People');
    await page.close();
  });

  test('a session that was ended elsewhere asks for the key again, and stays at its page', async () => {
    const { page } = await portal().open('/health');
    await page.context().clearCookies();
    // The page asks every few seconds by itself.
    await page.getByLabel('Key').fill(BOOTSTRAP_KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor();
    await page.close();
  });

  test('the choice of language and colours lasts', async () => {
    const { page } = await portal().open('');
    await page.getByLabel('Colours').selectOption('dark');
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Die letzten 30 Tage' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.close();
  });

  test('files are uploaded, previewed, tagged, found, binned and deleted for good', async () => {
    const opened = await portal().open('/library');
    const { page } = opened;
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose files' }).click();
    const toFile = (name: string, text: string) => ({ name, mimeType: '', buffer: Buffer.from(text) });
    await (await chooser).setFiles([
      toFile('prices.csv', 'name,price\n"pump, small",20\n'),
      toFile('notes.md', '<script>document.title = "run"</script> # Notes'),
    ]);
    await page.getByText('2 of 2 uploaded, 0 failed').waitFor();

    await page.getByRole('link', { name: 'prices.csv' }).click();
    await page.getByRole('cell', { name: 'pump, small', exact: true }).waitFor();
    await page.reload();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Tags').fill('pump, 2026');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Saved').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'notes.md' }).click();
    await page.getByText('<script>document.title').waitFor();
    expect(await page.title()).toBe('Library · Atrium');
    await page.keyboard.press('Escape');

    await page.getByLabel('Attribute').selectOption('tags');
    await page.getByRole('textbox', { name: 'value' }).fill('pump');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('link', { name: 'notes.md' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show the URL' }).click();
    await page.getByText(`/v1/filter/${WORKSPACE}?tags=any%3Apump`).waitFor();
    await page.getByLabel('Choose prices.csv').check();
    await page.getByRole('button', { name: 'Move to the bin' }).click();
    await page.getByText('No document fits').waitFor();
    await page.getByRole('link', { name: 'Bin' }).click();
    await page.getByLabel('Choose prices.csv').check();
    await page.getByRole('button', { name: 'Delete for good' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
    await page.getByText('The bin is empty').waitFor();
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('a test event is sent, and appears by itself', async () => {
    const { page } = await portal().open('/events');
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByLabel('Type').fill('portal.seen');
    await page.getByRole('button', { name: 'Send an event' }).click();
    await page.getByText(/The event [\w-]+ is durable/).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('cell', { name: 'portal.seen' }).first().waitFor();
    await page.close();
  });

  test('the audit log names who made a key, and keeps the filter in its address', async () => {
    const { page } = await portal().open('/audit');
    await page.getByRole('link', { name: 'access.open-session' }).first().click();
    await page.getByText('access.create-workspace').waitFor({ state: 'detached' });
    await page.reload();
    expect(await page.getByLabel('Action').inputValue()).toBe('access.open-session');
    expect(await page.getByText('access.create-workspace').count()).toBe(0);
    await page.close();
  });
});
