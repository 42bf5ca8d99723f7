// A person at the portal, for the tests of this folder.

import { afterAll, beforeAll, describe } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { BOOTSTRAP_KEY, type RunningService, startService } from '../support/service.ts';
import { CHROMIUM, launchBrowser, type OpenBrowser, type OpenPage } from './chromium.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Portal = {
  service: RunningService;
  browser: OpenBrowser;
  /** Opens a page of the portal, signed in. */
  open(path: string, options?: SignInOptions): Promise<OpenPage>;
};
type SignInOptions = Parameters<OpenBrowser['open']>[1] & { key?: string };

/** The tests of a file, which share one service and one browser. They are skipped by name where there is no Chromium. */
export function describePortal(
  name: string,
  define: (portal: () => Portal) => void,
  start: () => Promise<RunningService> = startService,
): void {
  describe.skipIf(CHROMIUM === null)(
    `${name}${CHROMIUM === null ? ' (chromium is not installed)' : ''}`,
    () => {
      let portal: Portal;
      beforeAll(async () => {
        const [service, browser] = await Promise.all([start(), launchBrowser()]);
        portal = {
          service,
          browser,
          open: (path, options) => openPortal({ browser, url: service.url }, path, options),
        };
      });
      afterAll(async () => {
        await portal?.browser[Symbol.asyncDispose]();
        await portal?.service[Symbol.asyncDispose]();
      });
      define(() => portal);
    },
  );
}

/** The serious violations of the page, as the rule and the elements that break it; `rules`: of these alone. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(`if (!globalThis.axe) { ${AXE} }`);
  return page.evaluate(async (runOnly) => {
    type Violation = { id: string; impact: string; nodes: { target: string[] }[] };
    type Axe = { run(options: object): Promise<{ violations: Violation[] }> };
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  }, rules);
}

/** Opens a page of the portal, and signs in with the key. */
export async function openPortal(
  { browser, url }: { browser: OpenBrowser; url: string },
  path: string,
  options: SignInOptions = {},
): Promise<OpenPage> {
  const opened = await browser.open(`${url}/admin${path}`, options);
  await opened.page.getByLabel('Key').fill(options.key ?? BOOTSTRAP_KEY);
  await opened.page.keyboard.press('Enter');
  await opened.page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor({ state: 'attached' });
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
