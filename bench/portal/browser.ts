// A person at the portal, measured: how long pages take to load, their calls, and what an interaction costs the main thread.

import { type Browser, chromium, type Page, type Request } from 'playwright-core';
import { CHROMIUM } from '../../test/browser/chromium.ts';

export const launch = async (): Promise<Browser> => {
  if (CHROMIUM === null) throw new Error('chromium is not installed');
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
};

/** Milliseconds until this shows, from a browser without anything cached. */
export async function loadMs(browser: Browser, url: string, shown: string): Promise<number> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const startedAt = performance.now();
    await page.goto(url, { waitUntil: 'commit' });
    await page.locator(shown).first().waitFor();
    return performance.now() - startedAt;
  } finally {
    await context.close();
  }
}

export async function signIn(browser: Browser, url: string, key: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(60_000);
  await page.goto(`${url}/admin`);
  await page.getByLabel('Key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  return page;
}

/** Resolves once nothing is loading and the page has been drawn. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))));
}

/** The reading calls that a page makes for its data, in the order in which it makes them. */
export async function callsOf(page: Page, url: string): Promise<string[]> {
  const calls = new Set<string>();
  const note = (request: Request): void => {
    const { pathname, search } = new URL(request.url());
    if (request.method() === 'GET' && /^\/admin\/(?:api|call)\//.test(pathname)) calls.add(pathname + search);
  };
  page.on('request', note);
  await page.goto(url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await settle(page);
  page.off('request', note);
  return [...calls];
}

/** Milliseconds of each of the calls alone, and of all of them at once, as the page gets them. */
export const timeCalls = (page: Page, calls: readonly string[]): Promise<{ each: number[]; all: number }> =>
  page.evaluate(async (paths) => {
    const call = async (path: string): Promise<number> => {
      const startedAt = performance.now();
      const response = await fetch(path);
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      return performance.now() - startedAt;
    };
    const each: number[] = [];
    for (const path of paths) each.push(await call(path));
    const startedAt = performance.now();
    await Promise.all(paths.map(call));
    return { each, all: performance.now() - startedAt };
  }, calls);

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** On the clock, and on the processor: beside other work they differ. */
  dur?: number;
  tdur?: number;
  args?: { name?: string };
};

/** What the main thread of the page did meanwhile: all its tasks together, and the longest, in milliseconds. */
export async function traced(
  browser: Browser,
  page: Page,
  interact: () => Promise<unknown>,
): Promise<{ totalMs: number; longestMs: number }> {
  await browser.startTracing(page, {
    categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline'],
  });
  await interact();
  await settle(page);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) => name === 'RunTask' && ph === 'X' && mains.has(`${pid} ${tid}`),
  );
  // A browser has a renderer for each page that is open, and only this one is.
  const times = tasks.map(({ dur = 0, tdur = dur }) => tdur / 1000);
  return { totalMs: times.reduce((sum, ms) => sum + ms, 0), longestMs: Math.max(0, ...times) };
}
