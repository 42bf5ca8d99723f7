// Every page of the portal, full of what hostile people have written: nothing of it runs, and the pages stay accessible and usable.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { CHROMIUM } from './chromium.ts';
import { fillWithHostileContent } from './hostile-content.ts';
import { describePortal, settled, unexpected, violations } from './portal.ts';

const database = CHROMIUM === null ? undefined : await shared(testDatabase());
const start = () => startService({ environment: { DATABASE_URL: database?.url ?? '', CONTENT: 'on' } });

const PATHS = [
  '',
  '/keys',
  '/keys?new=1',
  '/people',
  '/workspaces',
  '/sessions',
  '/health',
  '/library',
  '/library?view=archive',
  '/library?view=texts&status=ready',
  '/knowledge',
  '/knowledge?q=script+img+onerror&where=name%3Dcontains%253Asrc',
  '/library?view=bin',
  '/usage',
  '/usage?view=events&by=source',
  '/events',
  '/events?view=dead',
  '/audit',
  '/models',
  '/playground',
  '/playground?view=embeddings',
  '/conversations',
  '/agents',
  '/agents?agent=new',
  '/bots',
  '/bots?bot=new',
  '/components',
  '/nothing-here',
];

/** Pages that say on a fresh installation what would stand there. */
const EMPTY_PATHS = [
  '',
  '/library',
  '/knowledge',
  '/usage',
  '/events?view=dead',
  '/conversations',
  '/agents',
  '/bots',
];

/** What must not be there, as sentences. */
const findDefects = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const wide = [...document.querySelectorAll('html, dialog')].filter(
      (element) => element.scrollWidth > element.clientWidth,
    );
    const images = [...document.querySelectorAll('img')].filter(({ src }) =>
      new URL(src).pathname.endsWith('/x'),
    );
    return [
      ...('ran' in globalThis ? ['a script has run'] : []),
      ...[...document.querySelectorAll('script:not([src])')].map(() => 'a script stands in the page'),
      ...images.map(() => 'markup became an image'),
      ...wide.map(({ tagName, scrollWidth }) => `${tagName} is ${scrollWidth} pixels wide at ${innerWidth}`),
    ];
  });

/** Texts that reverse the direction of what follows them on the same line. */
const findReversed = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const reversed: string[] = [];
    while (texts.nextNode()) {
      const text = texts.currentNode.textContent ?? '';
      if (!text.includes('\u202E')) continue;
      let element = texts.currentNode.parentElement;
      while (element && getComputedStyle(element).display.startsWith('inline')) {
        if (/isolate|plaintext/.test(getComputedStyle(element).unicodeBidi)) break;
        if (getComputedStyle(element).display !== 'inline') break;
        element = element.parentElement;
      }
      // A paragraph ends the change of direction: what ends with it harms nothing.
      const isolated = element && /isolate|plaintext/.test(getComputedStyle(element).unicodeBidi);
      if (!isolated && !element?.textContent?.endsWith(text))
        reversed.push(element?.outerHTML.slice(0, 200) ?? '');
    }
    return reversed;
  });

/** What is wrong with the page, light, dark and narrow. */
async function inspect(page: Page): Promise<string[]> {
  // Nothing is measured in the middle of an animation.
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  const found = [...(await findDefects(page)), ...(await findReversed(page)), ...(await violations(page))];
  await page.emulateMedia({ colorScheme: 'dark' });
  found.push(...(await violations(page, ['color-contrast'])).map((each) => `dark: ${each}`));
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 360, height: 780 });
  found.push(...(await findDefects(page)));
  await page.setViewportSize({ width: 1280, height: 900 });
  return found;
}

describePortal(
  'every page of the portal',
  (portal) => {
    test('of a fresh installation is accessible', async () => {
      const opened = await portal().open('');
      const { page } = opened;
      await page.emulateMedia({ reducedMotion: 'reduce' });
      for (const path of EMPTY_PATHS) {
        await page.goto(`${portal().service.url}/admin${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await settled(path, opened);
        expect([path, ...(await violations(page))]).toEqual([path]);
      }
      await page.close();
    });

    test('with hostile content runs none of it, is accessible, fits every width, and asks no other origin', async () => {
      const { service } = portal();
      const views = await fillWithHostileContent(service.url, database as NonNullable<typeof database>);
      const opened = await portal().open('');
      const { page, hosts } = opened;
      const outside = await portal().browser.open(`${service.url}/admin/sign-in`);
      await outside.page.getByLabel('Key').waitFor();
      expect(await inspect(outside.page)).toEqual([]);
      await outside.page.close();
      const defects: string[] = [];
      for (const path of [...PATHS, ...views]) {
        await page.goto(`${service.url}/admin${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        if (path !== '/components') await settled(path, opened);
        // What a dialog shows comes after the list behind it.
        if (views.includes(path)) await page.waitForLoadState('networkidle');
        const found = await inspect(page);
        defects.push(...found.map((each) => `${path}: ${each}`));
      }
      expect(defects).toEqual([]);
      // The address of no page is answered 404.
      expect(unexpected(opened).filter((error) => !error.includes('404'))).toEqual([]);
      const presigned = await fetch(`${service.url}/v1/${WORKSPACE}/presigned/url`, {
        headers: { APIKeyHeader: BOOTSTRAP_KEY },
      });
      const store = new URL(((await presigned.json()) as { url: string }).url).host;
      expect([...hosts].filter((host) => host !== new URL(service.url).host && host !== store)).toEqual([]);
      await page.close();
    });
  },
  start,
);
