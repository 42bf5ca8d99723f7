// As a page of another origin: it uploads straight into the store.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { CHROMIUM, launchBrowser, type OpenBrowser } from './chromium.ts';

describe.skipIf(CHROMIUM === null)(
  `in a browser${CHROMIUM === null ? ' (chromium is not installed)' : ''}`,
  () => {
    let service: RunningService;
    let browser: OpenBrowser;
    let otherOrigin: ReturnType<typeof Bun.serve>;

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
      browser = await launchBrowser();
    });

    afterAll(async () => {
      await browser?.[Symbol.asyncDispose]();
      await service?.[Symbol.asyncDispose]();
      await otherOrigin?.stop(true);
    });

    test('a page of an allowed origin uploads, confirms and downloads', async () => {
      const { page, errors } = await browser.open(otherOrigin.url.href);
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
    });
  },
);
