// The library of the portal as a person uses it who has files to keep.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { createCaller } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';
import { describePortal, unexpected } from './portal.ts';

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describePortal('the library of the portal', (portal) => {
  const library = () =>
    createLibrary(createCaller(portal().service.url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });

  const choose = async (page: Page, files: Record<string, string | Buffer>): Promise<void> => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose files' }).click();
    await (await chooser).setFiles(
      Object.entries(files).map(([name, content]) => ({ name, mimeType: '', buffer: Buffer.from(content) })),
    );
  };

  test('files are dropped into a folder, found by it, and the list of uploads survives a reload', async () => {
    const opened = await portal().open('/library');
    const { page } = opened;
    await page.getByLabel('Folder').fill('manuals/pumps');
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(['Close the valve.'], 'valve.txt', { type: 'text/plain' }));
      return data;
    });
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: transfer });
    await page.getByText('1 of 1 uploaded, 0 failed').waitFor();
    await page.getByRole('row').filter({ hasText: 'valve.txt' }).getByText('manuals/pumps').waitFor();
    await page.reload();
    await page.getByText('1 of 1 uploaded, 0 failed').waitFor();
    await page.getByRole('button', { name: 'Clear the list' }).click();
    await page.getByText('1 of 1 uploaded').waitFor({ state: 'detached' });
    expect((await library().read('valve.txt')).storage_url).toContain('/manuals/pumps/');
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('an upload is cancelled and tried again, and one that fails says why', async () => {
    const { page } = await portal().open('/library');
    const gate = Promise.withResolvers<void>();
    await page.route('**/presigned/url', async (route) => {
      await gate.promise;
      // The first request has been cancelled meanwhile.
      await route.continue().catch(() => undefined);
    });
    await choose(page, { 'slow.txt': 'slow' });
    await page.getByRole('button', { name: 'Cancel slow.txt' }).click();
    const again = page.getByRole('button', { name: 'Try slow.txt again' });
    await again.waitFor();
    gate.resolve();
    await page.unroute('**/presigned/url');
    await page.route('**/upload/confirm', (route) =>
      route.fulfill({ status: 503, json: { detail: 'The database is not available at the moment' } }),
    );
    await again.click();
    await page.getByText('The database is not available at the moment').waitFor();
    await page.unroute('**/upload/confirm');
    await page.getByRole('button', { name: 'Retry the failed ones' }).click();
    await page.getByText('1 of 1 uploaded, 0 failed').waitFor();
    expect((await library().read('slow.txt')).file_size).toBe(4);
    await page.close();
  });

  test('documents are tagged, published, archived and restored together', async () => {
    for (const name of ['one.txt', 'two.txt']) await library().stored({ name, tags: ['kept'] });
    const opened = await portal().open('/library');
    const { page } = opened;
    const chooseBoth = async (): Promise<void> => {
      await page.getByLabel('Choose one.txt').check();
      await page.getByLabel('Choose two.txt').check();
    };
    await chooseBoth();
    await page.getByRole('button', { name: 'Add tags' }).click();
    await page.getByRole('dialog').getByLabel('Tags').fill('new, kept');
    await page.getByRole('dialog').getByRole('button', { name: 'Add tags' }).click();
    await page.getByRole('row').filter({ hasText: 'two.txt' }).getByText('new').waitFor();
    expect((await library().read('one.txt')).tags).toEqual(['kept', 'new']);
    await chooseBoth();
    await page.getByRole('button', { name: 'Make public' }).click();
    await page.getByRole('row').filter({ hasText: 'two.txt' }).getByText('public').waitFor();
    await chooseBoth();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('link', { name: 'two.txt' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Archive' }).click();
    // The list of the documents, which has such a box, too, is replaced by then.
    await page.getByRole('row').filter({ hasText: 'two.txt' }).waitFor();
    await page.getByLabel('Choose all of this page').check();
    await page.getByRole('button', { name: 'Take out' }).click();
    await page.getByText('The archive is empty').waitFor();
    expect((await library().read('two.txt')).status).toBe('public');
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('a view is saved under a name, opened by it after a reload, and forgotten', async () => {
    await library().stored({ name: 'invoice.txt', tags: ['invoice'] });
    await library().stored({ name: 'letter.txt' });
    const { page } = await portal().open('/library?where=tags%3Dany%253Ainvoice');
    await page.getByRole('link', { name: 'invoice.txt' }).waitFor();
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByLabel('Name of the view').fill('Invoices');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: 'Clear', exact: true }).click();
    await page.getByRole('link', { name: 'letter.txt' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Invoices' }).click();
    await page.getByRole('link', { name: 'letter.txt' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('where')).toBe('tags=any%3Ainvoice');
    await page.getByRole('button', { name: 'Forget the view Invoices' }).click();
    await page.getByRole('link', { name: 'Invoices' }).waitFor({ state: 'detached' });
    await page.close();
  });

  test('an image is shown, curators are named, and the history of a document is a click away', async () => {
    const { id } = await library().stored({ name: 'pump.png' }, PIXEL);
    const opened = await portal().open(`/library?document=${id}`);
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('img', { name: 'pump.png' }).waitFor();
    const image = dialog.getByRole('img');
    // It is decoded a little after it is there.
    const width = await image.evaluate(async (shown: HTMLImageElement) => {
      await shown.decode();
      return shown.naturalWidth;
    });
    expect(width).toBe(1);
    await dialog.getByLabel('Curators').fill('not an e-mail');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Curators').fill('ada@example.com');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Saved', { exact: true }).waitFor();
    expect((await library().read(id)).access).toEqual({ curators: ['ada@example.com'] });
    await dialog.getByRole('link', { name: 'History', exact: true }).click();
    const rows = dialog.locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await rows.nth(0).textContent()).toContain('in the portal · 127.0.0.1');
    expect(await rows.nth(0).textContent()).toContain('access');
    expect(await rows.nth(1).textContent()).toContain('Uploaded');
    for (let time = 0; time < 21; time++) await library().patch(id, { summary: `${time}` });
    await page.reload();
    await dialog.getByRole('link', { name: 'Older' }).click();
    await dialog.getByText('Uploaded').waitFor();
    await page.goBack();
    await dialog.getByText('Uploaded').waitFor({ state: 'detached' });
    await page.close();
  });

  test('a search finds words of a name, and more than a page of documents has pages', async () => {
    for (let at = 0; at < 51; at += 17)
      await Promise.all(
        Array.from({ length: 17 }, (_, more) => library().stored({ name: `page ${at + more}.txt` })),
      );
    const { page } = await portal().open('/library?where=name%3Dstarts_with%253Apage');
    await page.getByText('1–50 of 51').waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByText('51–51 of 51').waitFor();
    await page.goBack();
    await page.getByText('1–50 of 51').waitFor();
    await page.getByLabel('Search').fill('16');
    await page.keyboard.press('Enter');
    await page.getByText('1–1 of 1').waitFor();
    await page.close();
  });
});
