// A person at the portal, for the tests of this folder.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { BOOTSTRAP_KEY } from '../support/service.ts';
import type { OpenBrowser, OpenPage } from './chromium.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The serious violations of the page, as the rule and the elements that break it. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe;
    type Violation = { id: string; impact: string; nodes: { target: string[] }[] };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  });
}

/** Opens a page of the portal, and signs in with the key. */
export async function openPortal(
  { browser, url }: { browser: OpenBrowser; url: string },
  path: string,
  options: Parameters<OpenBrowser['open']>[1] & { key?: string } = {},
): Promise<OpenPage> {
  const opened = await browser.open(`${url}/admin${path}`, options);
  await opened.page.getByLabel('Key').fill(options.key ?? BOOTSTRAP_KEY);
  await opened.page.keyboard.press('Enter');
  await opened.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  await opened.page.getByRole('heading', { level: 1 }).waitFor();
  return opened;
}

/** Waits until the page has its data. */
export async function settled(path: string, { page, errors }: OpenPage): Promise<void> {
  const loading = page.locator('.loading').first();
  await loading.waitFor({ state: 'detached' }).catch(() => {
    throw new Error(`${path} goes on loading: ${errors.join('; ')}`);
  });
}

/** The errors of the console without that of the first question: whether somebody is signed in is answered 401. */
export const unexpected = ({ errors }: OpenPage): string[] =>
  errors.filter((error) => !error.includes('401'));
