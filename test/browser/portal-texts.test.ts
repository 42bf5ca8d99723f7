// The portal and the texts of documents: what was read, what was not and why, and what a person does about it.

import { expect, test } from 'bun:test';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { pdf } from '../support/files.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { describePortal, unexpected, violations } from './portal.ts';

const start = () => startService({ environment: { CONTENT: 'on', SWEEP_INTERVAL_SECONDS: '2' } });

const MANUAL = Array.from({ length: 40 }, (_, chapter) => {
  const sentences = Array.from({ length: 30 }, (_unused, at) => `Sentence ${at} of chapter ${chapter + 1}.`);
  return `# Chapter ${chapter + 1}\n\n${sentences.join(' ').repeat(2)}\n`;
}).join('\n');

describePortal(
  'the texts of documents in the portal',
  (portal) => {
    const call = () => createCaller(portal().service.url);
    const library = () => createLibrary(call(), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });

    const stored = async (
      name: string,
      content: string | Uint8Array<ArrayBuffer>,
      given = {},
    ): Promise<string> => {
      const { id } = await library().stored({ name, ...given }, content);
      await eventually(
        'the file to be read',
        async () => (JSON.parse((await library().content(id)).text).status !== 'pending' ? true : undefined),
        60_000,
      );
      return id;
    };

    test('a file that could not be read says so in the list and why, and a text given by a person mends it', async () => {
      await stored('broken.pdf', '%PDF-1.7 broken');
      const opened = await portal().open('/library');
      const { page } = opened;
      const row = page.getByRole('row').filter({ hasText: 'broken.pdf' });
      await row.getByText('reading failed').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The file is broken, or could not be read').waitFor();
      expect(new URL(page.url()).searchParams.get('show')).toBe('text');
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Give the text' }).click();
      await dialog.getByLabel('The whole text').fill('The pump must be switched off.\fThen change the oil.');
      await dialog.getByRole('button', { name: 'Use this text' }).click();
      await dialog.getByText('2 pages').waitFor();
      await dialog.getByText('given by a person').waitFor();
      await dialog
        .getByRole('region', { name: 'Text' })
        .getByText('The pump must be switched off.')
        .waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await row.getByText('reading failed').waitFor({ state: 'detached' });
      await page.reload();
      await row.getByRole('link', { name: 'broken.pdf' }).waitFor();
      await page.goto(`${portal().service.url}/admin/library?view=texts&status=failed`);
      await page.getByText('No document fits').waitFor();
      await page.getByLabel('State of the text').selectOption('ready');
      await page.getByRole('link', { name: 'broken.pdf' }).waitFor();
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('passages are listed with their headings, and each opens the text at its place', async () => {
      const id = await stored('manual.md', MANUAL);
      const opened = await portal().open(`/library?document=${id}`);
      const { page } = opened;
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('link', { name: 'Passages', exact: true }).click();
      await dialog.getByText('Chapter 1', { exact: true }).first().waitFor();
      await dialog.getByRole('link', { name: 'Next' }).click();
      const shown = dialog.getByRole('listitem').filter({ hasText: 'Passage 31' });
      await shown.waitFor();
      const words = await shown.locator('.lines').textContent();
      const address = page.url();
      await shown.getByRole('link', { name: 'In the text' }).click();
      const mark = dialog.locator('mark');
      await mark.waitFor();
      expect(await mark.textContent()).toBe(words);
      const isInSight = () =>
        mark.evaluate((element) => {
          const [place, frame] = [
            element.getBoundingClientRect(),
            element.parentElement?.getBoundingClientRect(),
          ];
          return frame !== undefined && place.bottom > frame.top && place.top < frame.bottom;
        });
      await eventually('the place in sight', isInSight);
      await page.reload();
      await mark.waitFor();
      await eventually('the place in sight again', isInSight);
      await page.goBack();
      await shown.waitFor();
      expect(page.url()).toBe(address);
      await dialog.getByRole('link', { name: 'Text', exact: true }).click();
      await dialog.getByText(/Characters 1 to 40,000 of/).waitFor();
      await dialog.getByRole('link', { name: 'Next' }).click();
      await dialog.getByText(/Characters 40,001 to/).waitFor();
      await dialog.getByRole('link', { name: 'Previous' }).click();
      await dialog.getByText(/Characters 1 to/).waitFor();
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('a citation of an answer opens the page that it cites, at its quote', async () => {
      const words = ['oil', 'zeppelins', 'winter'].map((word) => `This page is about ${word}. It is short.`);
      const id = await stored('pages.pdf', pdf(words.map((text) => [{ x: 60, y: 700, text }])));
      const agent = { name: 'Cites', kind: 'persona', knowledge: 'documents' };
      const path = `/admin/api/workspaces/${WORKSPACE}/agents/cites`;
      expectStatus(await call()('PUT', path, { key: BOOTSTRAP_KEY, json: agent }), 200);
      const chat = createChatClient(call(), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
      const { name, chat_session_id: session } = await chat.newSession({ agi_id: 'cites' });
      const { citations } = await chat.ask(name, 'Which page is about zeppelins?');
      const { number, quote } = citations.find((each) => each.document_id === id && each.page === 2) ?? {};
      expect(quote).toContain('about zeppelins.');
      const opened = await portal().open(`/conversations?session=${session}`);
      const { page } = opened;
      await page.getByRole('link', { name: `[${number}] pages.pdf` }).click();
      const mark = page.getByRole('dialog').locator('mark');
      await mark.waitFor();
      expect(await mark.textContent()).toBe(quote ?? '');
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(new URL(page.url()).search).toBe('');
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('reading is switched off for a document, which says so, and on again', async () => {
      const id = await stored('pump.pdf', pdf([[{ x: 60, y: 700, text: 'The pump is old.' }]]));
      const { page } = await portal().open(`/library?document=${id}&show=text`);
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The pump is old.').waitFor();
      await dialog.getByRole('button', { name: 'Keep no text' }).click();
      await dialog.getByText('Reading is off.').waitFor();
      expect(JSON.parse((await library().content(id)).text)).toMatchObject({ reading: 'off', passages: 0 });
      await dialog.getByRole('button', { name: 'Read the file', exact: true }).click();
      await dialog.getByText('The pump is old.').waitFor();
      await page.close();
    });

    test('the counts of a workspace lead to its documents, and its reading is switched off and on', async () => {
      await stored('unreadable.pdf', '%PDF-1.7 broken');
      const opened = await portal().open('/health');
      const { page } = opened;
      const row = page.getByRole('row').filter({ hasText: 'reading failed' });
      await row.getByRole('link').click();
      await page.getByRole('link', { name: 'unreadable.pdf' }).waitFor();
      await page.goBack();
      await page.getByRole('link', { name: 'Switch reading on or off' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Switch off' }).click();
      await dialog.getByText('New files are not read.').waitFor();
      const settings = async () =>
        JSON.parse(
          (await call()('GET', `/admin/api/workspaces/${WORKSPACE}/content`, { key: BOOTSTRAP_KEY })).text,
        );
      expect(await settings()).toEqual({ reading: 'off' });
      await dialog.getByRole('button', { name: 'Switch on' }).click();
      await dialog.getByText('The text of each new file is read').waitFor();
      expect(await settings()).toEqual({ reading: 'on' });
      expect(await violations(page)).toEqual([]);
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('a question finds passages with its words marked, and a click opens the text at the place', async () => {
      const lamps = 'The lamps of lighthouses were lit before the ships came home from the sea.';
      await stored('lighthouse.txt', lamps, { tags: ['coast'] });
      await stored('keeper.txt', 'A keeper keeps the lighthouse lamp burning through every long night.');
      const opened = await portal().open('/knowledge');
      const { page } = opened;
      await page.getByText('Ask your documents').waitFor();
      await page.getByLabel('Question').fill('Who keeps a lighthouse?');
      await page.keyboard.press('Enter');
      const result = page.getByRole('listitem').filter({ hasText: 'keeper.txt' });
      await result.waitFor();
      expect(await result.locator('mark').allTextContents()).toEqual(['keeps', 'lighthouse']);
      await result.getByText(/by words [\d.]+.* · has of the question: keeps, lighthouse/).waitFor();
      expect(await violations(page)).toEqual([]);
      await result.getByRole('link', { name: 'keeper.txt' }).click();
      const dialog = page.getByRole('dialog');
      expect(await dialog.locator('mark').textContent()).toBe(
        'A keeper keeps the lighthouse lamp burning through every long night.',
      );
      await page.goBack();
      await dialog.waitFor({ state: 'detached' });
      await result.waitFor();

      await page.getByLabel('Attribute').selectOption('tags');
      await page.getByLabel('value').fill('coast');
      await page.getByRole('button', { name: 'Add filter' }).click();
      await result.waitFor({ state: 'detached' });
      await page.getByRole('listitem').filter({ hasText: 'lighthouse.txt' }).waitFor();
      await page.getByLabel('Found by').selectOption('words');
      await page.getByText('postgres words', { exact: false }).waitFor();
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
        q: 'Who keeps a lighthouse?',
        mode: 'words',
        where: 'tags=any%3Acoast',
      });
      await page.reload();
      await page.getByRole('listitem').filter({ hasText: 'lighthouse.txt' }).waitFor();
      await page.getByRole('button', { name: 'Remove the filter tags=any:coast' }).click();
      await result.waitFor();
      await page.getByLabel('Question').fill('zebra crossing');
      await page.getByRole('button', { name: 'Find', exact: true }).click();
      await page.getByText('No passage was found').waitFor();
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });
  },
  start,
);
