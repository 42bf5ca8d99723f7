// A browser as people have one, for the tests of this folder.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';

/** The engine without a window's frame where that is installed: the same pages cost it two thirds of the processor time. */
export const CHROMIUM =
  Bun.which('chromium-headless-shell') ?? Bun.which('chromium') ?? Bun.which('google-chrome');
if (CHROMIUM === null && process.env['REQUIRE_SERVERS'] === '1') throw new Error('chromium is required');

export const PLAIN_HOST = 'portal.test';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A name that is not of this machine: its pages have what a page without TLS has, and nothing more.
  `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
];

/** The driver's own limit is half a minute, which a busy machine exceeds. */
const TIMEOUT_MS = 120_000;

export type OpenPage = {
  page: Page;
  /** Those that it asked for anything. */
  hosts: ReadonlySet<string>;
  /** What its console says went wrong, and what was thrown. */
  errors: readonly string[];
};

export type OpenBrowser = AsyncDisposable & {
  open(url: string, options?: { width?: number; colorScheme?: 'light' | 'dark' }): Promise<OpenPage>;
};

export async function launchBrowser(): Promise<OpenBrowser> {
  const home = mkdtempSync(join(tmpdir(), 'atrium-browser-'));
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? '',
    timeout: TIMEOUT_MS,
    args: FLAGS,
    env: { HOME: home, PATH: process.env['PATH'] ?? '' },
  });
  return {
    async open(url, { width = 1280, colorScheme = 'light' } = {}) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      // Of the windows that it opens, too.
      page.context().setDefaultTimeout(TIMEOUT_MS);
      const hosts = new Set<string>();
      const errors: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host);
      });
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      page.on('pageerror', (error) => errors.push(error.message));
      await page.goto(url);
      return { page, hosts, errors };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
