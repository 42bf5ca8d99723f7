// As a person who keeps documents in the portal: folders, previews, and hundreds of files in line.

import { afterAll, expect, test } from 'bun:test';
import { missingStore, type StoreUnderTest, startStore } from '../support/object-stores.ts';
import { startService } from '../support/service.ts';
import type { OpenPage } from './chromium.ts';
import { describePortal, unexpected } from './portal.ts';

type File = { name: string; mimeType: string; buffer: Buffer };

const toFile = (name: string, text = name): File => ({ name, mimeType: '', buffer: Buffer.from(text) });
const filesOf = (count: number, prefix: string): File[] =>
  Array.from({ length: count }, (_, at) => toFile(`${prefix}-${String(at).padStart(3, '0')}.txt`));

async function choose({ page }: OpenPage, files: readonly File[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose files' }).click();
  await (await chooser).setFiles([...files]);
}

for (const store of ['embedded', 'minio'] as const) {
  const missing = missingStore(store);
  let objects: StoreUnderTest | undefined;
  const start = async () => {
    objects = await startStore(store);
    return startService({ environment: objects.environment });
  };
  describePortal(
    missing ?? `the library in a browser, over ${store}`,
    (portal) => {
      if (missing !== undefined) return test.skip(missing, () => undefined);
      afterAll(() => objects?.stop());
      test('a file goes from the browser to the store, and its beginning comes back', async () => {
        const opened = await portal().open('/library');
        const { page } = opened;
        await choose(opened, [
          toFile('prices.csv', 'name,price\n"pump, small",20\n'),
          toFile('notes.md', '# Notes\n\n- **two** valves\n- <script>document.title = "run"</script>\n'),
        ]);
        await page.getByText('2 of 2 uploaded, 0 failed').waitFor();
        await page.getByRole('link', { name: 'prices.csv' }).click();
        await page.getByRole('cell', { name: 'pump, small', exact: true }).waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('link', { name: 'notes.md' }).click();
        await page.locator('.preview strong', { hasText: 'two' }).waitFor();
        await page.locator('.preview li', { hasText: '<script>document.title' }).waitFor();
        expect(await page.title()).toBe('Library · Atrium');
        expect(unexpected(opened)).toEqual([]);
        await page.close();
      });

      test('folders are opened, left by the way that led there, and kept in the address', async () => {
        const opened = await portal().open('/library');
        const { page } = opened;
        const folders = page.getByRole('navigation', { name: 'Folders' });
        for (const [folder, name] of [
          ['manuals/pumps', 'pump.txt'],
          ['manuals', 'overview.txt'],
          ['contracts', 'terms.txt'],
        ] as const) {
          await page.getByLabel('Folder', { exact: true }).fill(folder);
          await choose(opened, [toFile(name)]);
          await page.getByRole('link', { name, exact: true }).waitFor();
        }
        await folders.getByRole('link', { name: 'manuals' }).click();
        await page.getByRole('link', { name: 'terms.txt' }).waitFor({ state: 'detached' });
        await folders.getByRole('link', { name: 'pumps' }).click();
        await page.getByRole('link', { name: 'overview.txt' }).waitFor({ state: 'detached' });
        expect(await page.getByLabel('Folder', { exact: true }).inputValue()).toBe('manuals/pumps');
        await page.reload();
        await page.getByRole('link', { name: 'pump.txt' }).waitFor();
        expect(await page.getByRole('link', { name: 'overview.txt' }).count()).toBe(0);
        await folders.getByRole('link', { name: 'manuals' }).click();
        await page.getByRole('link', { name: 'overview.txt' }).waitFor();
        await page.goBack();
        await page.getByRole('link', { name: 'overview.txt' }).waitFor({ state: 'detached' });
        await folders.getByRole('link', { name: 'All documents' }).click();
        await page.getByRole('link', { name: 'terms.txt' }).waitFor();
        await page
          .getByRole('row')
          .filter({ hasText: 'terms.txt' })
          .getByRole('link', { name: 'contracts' })
          .click();
        await page.getByRole('link', { name: 'pump.txt' }).waitFor({ state: 'detached' });
        await page.close();
      });
    },
    missing === undefined ? start : undefined,
  );
}

describePortal('uploads in line', (portal) => {
  test('five hundred files are stored a few at once, while a person looks at other pages', async () => {
    const opened = await portal().open('/library');
    const { page } = opened;
    let [posting, most] = [0, 0];
    page.on('request', (request) => {
      if (request.method() !== 'POST' || request.url().includes('/admin/')) return;
      posting++;
      most = Math.max(most, posting);
    });
    const ended = (request: { method(): string; url(): string }): void => {
      if (request.method() === 'POST' && !request.url().includes('/admin/')) posting--;
    };
    page.on('requestfinished', ended);
    page.on('requestfailed', ended);
    await choose(opened, filesOf(500, 'many'));
    await page.getByText(/of 500 uploaded/).waitFor();
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Library' }).click();
    await page.getByText('500 of 500 uploaded, 0 failed').waitFor();
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
    expect(unexpected(opened)).toEqual([]);
    await page.close();
  });

  test('all that wait are cancelled at once, and what was cancelled can be sent again', async () => {
    const opened = await portal().open('/library');
    const { page } = opened;
    await page.route('**/presigned/url*', () => undefined);
    await choose(opened, filesOf(20, 'cancelled'));
    await page.getByRole('button', { name: 'Cancel all' }).click();
    await page.getByText('0 of 20 uploaded, 0 failed').waitFor();
    await page.unroute('**/presigned/url*');
    await page.getByRole('button', { name: 'Try cancelled-000.txt again' }).click();
    await page.getByText('1 of 20 uploaded, 0 failed').waitFor();
    await page.close();
  });
});
