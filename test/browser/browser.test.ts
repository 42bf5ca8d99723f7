// As a person with a browser: /docs runs operations without internet, and a page of another origin uploads straight
// into the store.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';

const binary = Bun.which('chromium') ?? Bun.which('google-chrome');
if (binary === null && process.env['REQUIRE_SERVERS'] === '1') throw new Error('chromium is required');

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

describe.skipIf(binary === null)(
  `in a browser${binary === null ? ' (chromium is not installed)' : ''}`,
  () => {
    let service: RunningService;
    let browser: Browser;
    let otherOrigin: ReturnType<typeof Bun.serve>;
    const home = mkdtempSync(join(tmpdir(), 'atrium-browser-'));

    beforeAll(async () => {
      otherOrigin = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: () =>
          new Response('<!doctype html><title>An application</title>', {
            headers: { 'content-type': 'text/html' },
          }),
      });
      service = await startService({ environment: { CORS_ORIGINS: otherOrigin.url.origin } });
      browser = await chromium.launch({
        executablePath: binary ?? '',
        args: FLAGS,
        env: { HOME: home, PATH: process.env['PATH'] ?? '' },
      });
    }, 60_000);

    afterAll(async () => {
      await browser?.close();
      await service?.[Symbol.asyncDispose]();
      await otherOrigin?.stop(true);
      rmSync(home, { recursive: true, force: true });
    }, 30_000);

    /** A page that tells which hosts it asked for anything. */
    async function open(url: string): Promise<{ page: Page; hosts: Set<string>; errors: string[] }> {
      const page = await browser.newPage();
      const hosts = new Set<string>();
      const errors: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host);
      });
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      await page.goto(url);
      return { page, hosts, errors };
    }

    test('/docs shows every area and runs an operation, asking nobody else', async () => {
      const { page, hosts, errors } = await open(`${service.url}/docs`);
      const operation = page.locator('.opblock', { hasText: 'Get a pre-signed upload descriptor' });
      await operation.waitFor();
      await page.getByRole('button', { name: 'Authorize' }).first().click();
      const dialog = page.locator('.dialog-ux');
      await dialog.locator('input').first().fill(BOOTSTRAP_KEY);
      await dialog.locator('button.authorize').first().click();
      await dialog.getByRole('button', { name: 'Close' }).first().click();
      await operation.locator('button').first().click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      await operation.getByRole('textbox').first().waitFor();
      for (const [name, value] of [
        ['workspace_id', WORKSPACE],
        ['APIKeyHeader', BOOTSTRAP_KEY],
      ] as const) {
        const input = operation.locator(`tr[data-param-name="${name}"] input`);
        if ((await input.count()) > 0) await input.fill(value);
      }
      await operation.getByRole('button', { name: 'Execute' }).click();
      const status = operation.locator('.live-responses-table .response-col_status').nth(1);
      await status.waitFor();
      expect((await status.textContent())?.trim()).toStartWith('201');
      expect([...hosts]).toEqual([new URL(service.url).host]);
      expect(errors).toEqual([]);
      await page.close();
    }, 60_000);

    test('a page of an allowed origin uploads, confirms and downloads', async () => {
      const { page, errors } = await open(otherOrigin.url.href);
      const result = await page.evaluate(
        async ({ url, key, workspace }) => {
          const headers = { APIKeyHeader: key };
          const descriptor = await (await fetch(`${url}/v1/${workspace}/presigned/url`, { headers })).json();
          const form = new FormData();
          for (const [name, value] of Object.entries(descriptor.fields)) form.append(name, String(value));
          form.append('file', new Blob(['from a browser']), 'b.txt');
          const progress: number[] = [];
          const posted = await new Promise<number>((resolve, reject) => {
            const upload = new XMLHttpRequest();
            upload.upload.onprogress = (event) => progress.push(event.loaded);
            upload.onload = () => resolve(upload.status);
            upload.onerror = () => reject(new Error('the upload was blocked'));
            upload.open('POST', descriptor.url);
            upload.send(form);
          });
          const confirmed = await fetch(`${url}/v1/${workspace}/upload/confirm`, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify({ temp_key: descriptor.fields.key, document_metadata: { name: 'b.txt' } }),
          });
          const document = await confirmed.json();
          const link = await fetch(`${url}/v1/${workspace}/file/${document.id}/download/url`, { headers });
          const content = await (await fetch(await link.json())).text();
          return { posted, progress: progress.length, confirmed: confirmed.status, content };
        },
        { url: service.url, key: BOOTSTRAP_KEY, workspace: WORKSPACE },
      );
      expect(errors).toEqual([]);
      expect(result).toMatchObject({ posted: 204, confirmed: 201, content: 'from a browser' });
      expect(result.progress).toBeGreaterThan(0);
      await page.close();
    }, 60_000);
  },
);
