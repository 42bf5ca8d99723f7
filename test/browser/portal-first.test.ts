// The first success of the README in the portal, by mouse alone: from the link of the first start to a document, an answer, an event.

import { expect, test } from 'bun:test';
import { startUnconfigured } from '../acceptance/support/starts.ts';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { describePortal } from './portal.ts';

describePortal(
  'a fresh installation in the portal',
  (portal) => {
    test('the link of the first start leads to the first success by mouse alone', async () => {
      const { service, browser } = portal();
      const link = /^ *Portal +(\S+)/m.exec(service.child.output())?.[1] ?? '';
      const { page, hosts, errors } = await browser.open(link);
      await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
      expect(page.url()).not.toContain('#');

      await page.getByRole('button', { name: 'Create a key' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Create a key' }).click();
      const key = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
      await page.getByRole('button', { name: 'Done' }).click();
      const find = () => fetch(`${service.url}/v1/filter/default`, { headers: { APIKeyHeader: key } });
      expect((await find()).status).toBe(200);

      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose a file' }).click();
      const file = { name: 'hello.txt', mimeType: 'text/plain', buffer: Buffer.from('Hello') };
      await (await chooser).setFiles(file);
      await page.getByText('hello.txt is stored.').waitFor();
      const { items } = (await (await find()).json()) as { items: { name: string; file_size: number }[] };
      expect(items).toMatchObject([{ name: 'hello.txt', file_size: 5 }]);

      await page.getByRole('button', { name: 'Say good morning' }).click();
      await page.getByText('local-echo: Echo: Good morning').waitFor();
      await page.getByRole('button', { name: 'Send an event' }).click();
      await page.getByText(/The event [\w-]+ is durable/).waitFor();
      await page.getByText('done', { exact: true }).nth(3).waitFor();

      // What was done is all done: the next visit begins with the figures.
      await eventually('the sums to count the event', async () => {
        await page.reload();
        await page.getByRole('heading', { name: 'The last 30 days' }).waitFor();
        return (await page.getByText('First steps').count()) === 0;
      });
      expect([...hosts].filter((host) => new URL(`http://${host}`).hostname !== '127.0.0.1')).toEqual([]);
      // The first question, whether somebody is signed in, is answered 401.
      expect(errors.filter((error) => !error.includes('401'))).toEqual([]);
      await page.close();
    });
  },
  () => startUnconfigured(freshFolder()),
);
