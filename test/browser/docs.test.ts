// As a person who opens /docs for the first time: one key is pasted once, and operations of every area run with what
// the page has filled in.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { once } from '../support/once.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { CHROMIUM, launchBrowser, type OpenBrowser, type OpenPage } from './chromium.ts';

type Parameter = { in: string; name: string; required?: boolean };
type Described = { operationId: string; tags: string[]; parameters: Parameter[] };
/** What the page does when an area is clicked. */
type SwaggerUi = {
  layoutActions: { show(place: string[], isOpen: boolean): void };
  specActions: { clearResponse(path: string, method: string): void };
};
type OpenApiDocument = { paths: Record<string, Record<string, Described>> };

/** Longer than a busy machine takes to send what a click asks for. */
const CLICK_MS = 20_000;
const CLICKS_MAX = 3;

describe.skipIf(CHROMIUM === null)(
  `the page /docs in a browser${CHROMIUM === null ? ' (chromium is not installed)' : ''}`,
  () => {
    let service: RunningService;
    let browser: OpenBrowser;
    let document: OpenApiDocument;

    beforeAll(async () => {
      service = await startService();
      browser = await launchBrowser();
      document = (await (await fetch(`${service.url}/docs/json`)).json()) as OpenApiDocument;
    });
    afterAll(async () => {
      await browser?.[Symbol.asyncDispose]();
      await service?.[Symbol.asyncDispose]();
    });

    const operations = () =>
      Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({ method, path, ...described })),
      );

    async function openDocs(): Promise<OpenPage> {
      const opened = await browser.open(`${service.url}/docs`);
      await opened.page.locator('.opblock-tag').first().waitFor();
      return opened;
    }

    /** Presses Authorize and pastes a key into the one box there is. */
    async function authorize(page: Page, key: string): Promise<Locator> {
      await page.getByRole('button', { name: 'Authorize' }).first().click();
      const dialog = page.locator('.dialog-ux');
      expect(await dialog.locator('input').count()).toBe(1);
      await dialog.locator('input').fill(key);
      await dialog.locator('button.authorize').click();
      return dialog;
    }

    // To draw the page costs more than most tests do with it: those that change nothing which another looks at share one.
    const withoutKey = once(openDocs);
    const withKey = once(async (): Promise<OpenPage> => {
      const opened = await openDocs();
      const told = opened.page.waitForResponse((response) => response.url().endsWith('/admin/api/session'));
      const dialog = await authorize(opened.page, BOOTSTRAP_KEY);
      await told;
      await dialog.getByRole('button', { name: 'Close' }).first().click();
      return opened;
    });

    const areaOf = (page: Page, tag: string): Locator => page.locator(`.opblock-tag[data-tag="${tag}"]`);

    /** All at once, for after each click on the page everything that is open is drawn again. */
    async function closeAreas(page: Page): Promise<void> {
      await page.evaluate(() => {
        const { ui } = globalThis as unknown as { ui: SwaggerUi };
        for (const area of globalThis.document.querySelectorAll('.opblock-tag[data-is-open="true"]'))
          ui.layoutActions.show(['operations-tag', area.getAttribute('data-tag') ?? ''], false);
      });
      await page.locator('.opblock').first().waitFor({ state: 'detached' });
    }

    /** Leaves the page as if the operation had not been opened: a later test of it waits for an answer of its own. */
    async function closeOperation(page: Page, operationId: string): Promise<void> {
      await page.evaluate(({ operationId: id, tags, path, method }) => {
        const { ui } = globalThis as unknown as { ui: SwaggerUi };
        ui.specActions.clearResponse(path, method);
        for (const place of tags.map((tag) => ['operations', tag, id])) {
          ui.layoutActions.show([...place, 'try-it-out'], false);
          ui.layoutActions.show(place, false);
        }
      }, find(operationId));
      await closeAreas(page);
    }

    const find = (operationId: string) => {
      const described = operations().find((each) => each.operationId === operationId);
      if (described === undefined) throw new Error(`there is no ${operationId}`);
      return described;
    };

    const blockOf = (page: Page, operationId: string): Locator => {
      const { method, path } = find(operationId);
      return page
        .locator(`.opblock-${method}`)
        .filter({ has: page.locator(`[data-path="${path}"]`) })
        .first();
    };

    /** Opens the area of an operation, the operation, and presses “Try it out”. */
    async function tryOut(page: Page, operationId: string): Promise<Locator> {
      for (const tag of find(operationId).tags) await areaOf(page, tag).click();
      const operation = blockOf(page, operationId);
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      return operation;
    }

    /** What the three presses of `tryOut` come to, drawn once in place of three times: for many operations of a page. */
    async function tryOutAtOnce(page: Page, operationId: string): Promise<Locator> {
      await page.evaluate(({ operationId: id, tags }) => {
        const { ui } = globalThis as unknown as { ui: SwaggerUi };
        for (const tag of tags)
          for (const place of [
            ['operations', tag, id, 'try-it-out'],
            ['operations', tag, id],
            ['operations-tag', tag],
          ])
            ui.layoutActions.show(place, true);
      }, find(operationId));
      return blockOf(page, operationId);
    }

    /** A click that meets the page while it is drawn anew is lost: then nothing is sent nor told, and it is repeated. */
    async function pressUntilTaken(page: Page, button: Locator, told: Locator): Promise<void> {
      for (let clicks = 0; clicks < CLICKS_MAX; clicks++) {
        const sent = page.waitForRequest('**', { timeout: CLICK_MS });
        const [taken] = await Promise.all([
          Promise.any([sent, told.waitFor({ timeout: CLICK_MS })]).then(
            () => true,
            () => false,
          ),
          button.click(),
        ]);
        if (taken) return;
      }
    }

    /** Tries an operation out, presses “Execute”, and touches nothing else. */
    async function execute(page: Page, operationId: string, open = tryOut): Promise<string> {
      const operation = await open(page, operationId);
      const status = operation.locator('.live-responses-table tbody .response-col_status').first();
      const unsent = operation.locator('.parameters .invalid').first();
      const told = status.or(unsent).first();
      await pressUntilTaken(page, operation.getByRole('button', { name: 'Execute' }), told);
      await told.waitFor();
      const text = (await status.count()) > 0 ? await status.textContent() : 'not sent: a field is empty';
      await closeOperation(page, operationId);
      return text?.trim().slice(0, 3) === 'not' ? text : (text ?? '').trim().slice(0, 3);
    }

    test('one key, pasted once, serves what writes and what asks models, with the examples as they are', async () => {
      const { page, hosts, errors } = await withKey();
      const earlier = errors.length;
      const expected: [string, string][] = [
        ['documents.presign', '201'],
        ['models.chat', '200'],
        ['models.completions', '200'],
        ['models.embeddings', '200'],
        ['models.embed-for-workspace', '200'],
        ['chat.create-session', '200'],
        ['chat.send-message', '200'],
        ['metrics.ingest', '202'],
      ];
      const statuses: [string, string][] = [];
      for (const [operationId] of expected) statuses.push([operationId, await execute(page, operationId)]);
      expect(statuses).toEqual(expected);
      expect([...hosts]).toEqual([new URL(service.url).host]);
      expect(errors.slice(earlier)).toEqual([]);
      // Its example is of an upload that there was not.
      expect(await execute(page, 'documents.confirm')).toBe('404');
    });

    test('every operation that only reads, and reads no single thing, runs untouched', async () => {
      const { page, hosts, errors } = await withKey();
      const earlier = errors.length;
      const readable = operations().filter(
        ({ method, operationId, parameters }) =>
          method === 'get' &&
          // It leads a browser to a provider, and none is configured.
          !operationId.endsWith('-sign-on') &&
          parameters.every(
            (each) => each.in === 'header' || each.name === 'workspace_id' || each.required !== true,
          ),
      );
      expect(readable.length).toBeGreaterThan(15);
      const areas = new Set(readable.flatMap(({ tags }) => tags));
      expect([...areas].toSorted()).toEqual([
        'access',
        'administration',
        'bots',
        'chat',
        'compute',
        'documents',
        'health',
        'metrics',
        'models',
      ]);
      const failed: string[] = [];
      for (const { operationId } of readable) {
        const status = await execute(page, operationId, tryOutAtOnce);
        if (!status.startsWith('20')) failed.push(`${operationId}: ${status}`);
      }
      expect(failed).toEqual([]);
      expect([...hosts]).toEqual([new URL(service.url).host]);
      expect(errors.slice(earlier)).toEqual([]);
    });

    test('no operation asks for the key again, and none sends it in a URL', async () => {
      const { page } = await withKey();
      const urls: string[] = [];
      page.on('request', (request) => urls.push(request.url()));
      await execute(page, 'metrics.retrieve');
      expect(urls.filter((url) => url.includes(WORKSPACE)).length).toBeGreaterThan(0);
      expect(urls.filter((url) => url.includes(BOOTSTRAP_KEY))).toEqual([]);
      for (const operationId of ['documents.search', 'chat.list-sessions', 'bots.answer']) {
        const operation = await tryOut(page, operationId);
        const asked = operation.locator('tr[data-param-in="header"]');
        expect([operationId, await asked.count()]).toEqual([operationId, 0]);
        await closeOperation(page, operationId);
      }
    });

    test('the key is remembered when the page is loaded again, and its workspace with it', async () => {
      const { page } = await withKey();
      const told = page.waitForResponse((response) => response.url().endsWith('/admin/api/session'));
      await page.reload();
      await told;
      await page.locator('.opblock-tag').first().waitFor();
      expect(await execute(page, 'documents.search')).toBe('200');
    });

    test('a key that is not good is said to be none, and is not kept', async () => {
      const { page } = await openDocs();
      const dialog = await authorize(page, 'nobody-has-this-key-0123456789-abcdef');
      await dialog.locator('.errors').waitFor();
      expect(await dialog.textContent()).toContain('unknown, expired or revoked');
      expect(await dialog.locator('input').count()).toBe(1);
      const kept = await page.evaluate(() => JSON.stringify(Object.values({ ...localStorage })));
      expect(kept).not.toContain('nobody-has-this-key');
      await page.close();
    });

    test('a schema is shown with what its references lead to', async () => {
      const { page, errors } = await withoutKey();
      for (const tag of find('documents.search').tags) await areaOf(page, tag).click();
      const operation = blockOf(page, 'documents.search');
      await operation.locator('.opblock-summary-control').click();
      const answer = operation.locator('.responses-table tbody .response').first();
      await answer.getByRole('tab', { name: 'Schema' }).click();
      const expand = answer.getByRole('button', { name: 'Expand all' }).first();
      await expand.click();
      await answer.getByText('storage_url').first().waitFor();
      expect(await answer.textContent()).not.toContain('#/components');
      expect(errors).toEqual([]);
      await operation.locator('.opblock-summary-control').click();
      await answer.waitFor({ state: 'detached' });
    });

    test.each([1280, 768, 390])('nothing is wider than a window of %d pixels', async (width) => {
      const { page } = await withoutKey();
      await page.setViewportSize({ width, height: 900 });
      const widest = await page.evaluate(() => globalThis.document.documentElement.scrollWidth);
      expect(widest).toBeLessThanOrEqual(width);
    });

    test('it is dark for those whose system is', async () => {
      const { page } = await browser.open(`${service.url}/docs`, { colorScheme: 'dark' });
      const shade = () =>
        page.evaluate(() => getComputedStyle(globalThis.document.documentElement).backgroundColor);
      const channels = ((await shade()).match(/\d+/g) ?? []).map(Number);
      expect(Math.max(...channels.slice(0, 3))).toBeLessThan(80);
      await page.close();
    });
  },
);
