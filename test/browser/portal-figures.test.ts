// What the portal shows of the service's own figures: models with their targets, percentiles of times, settings, trends.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type RunningGateway, startGateway } from '../support/gateway.ts';
import { CHROMIUM, launchBrowser, type OpenBrowser, type OpenPage } from './chromium.ts';
import { openPortal, settled, unexpected, violations } from './portal.ts';

describe.skipIf(CHROMIUM === null)(
  `figures in the portal${CHROMIUM === null ? ' (chromium is not installed)' : ''}`,
  () => {
    let gateway: RunningGateway;
    let browser: OpenBrowser;

    const modelsFile = (mockUrl: string) => ({
      upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
      models: {
        good: {
          targets: [{ upstream: 'mock', model: 'ok' }],
          price: { input_per_million: 15, output_per_million: 60 },
        },
        bad: { targets: [{ upstream: 'mock', model: 'status-500' }], fallbacks: ['good'] },
      },
    });

    beforeAll(async () => {
      gateway = await startGateway(modelsFile);
      browser = await launchBrowser();
      for (const model of ['good', 'bad', 'bad', 'bad', 'bad', 'bad']) await call(model);
      await eventually('the accounts', async () => (await requests()) === 6);
    });

    afterAll(async () => {
      await browser?.[Symbol.asyncDispose]();
      await gateway?.[Symbol.asyncDispose]();
    });

    const headers = () => ({ authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' });
    const call = async (model: string): Promise<void> => {
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'one' }], stream: true });
      await (
        await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: headers(), body })
      ).text();
    };
    const requests = async (): Promise<number> => {
      const response = await fetch(`${gateway.url}/admin/api/workspaces/acme/model-usage`, {
        headers: headers(),
      });
      return ((await response.json()) as { total: { requests: number } }).total.requests;
    };
    const open = async (path: string): Promise<OpenPage> => {
      const opened = await openPortal({ browser, url: gateway.url }, path);
      await settled(path, opened);
      return opened;
    };

    /** A circuit is open for some seconds: it fails again and again while `work` looks. */
    async function whileFailing(work: () => Promise<void>): Promise<void> {
      let over = false;
      const failing = (async () => {
        for (; !over; await Bun.sleep(200)) await call('bad');
      })();
      await work().finally(() => {
        over = true;
      });
      await failing;
    }

    test('models show their price, a target whose circuit is open, and why it failed', async () => {
      const opened = await open('/models');
      const { page } = opened;
      const model = page.getByRole('row').filter({ hasText: 'good' }).first();
      await model.getByText('15.00 / 60.00').waitFor();
      const target = page.getByRole('row').filter({ hasText: 'mock/status-500' }).last();
      await whileFailing(() => target.getByText('open: left alone').waitFor());
      await target.getByText('The upstream answered 500').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('a mistake of the models file is shown with its line, and goes when it is mended', async () => {
      gateway.writeModels('upstreams: {}\nmodels:\n  good: {targets: 5}\n');
      gateway.service.child.kill('SIGHUP');
      const { page } = await open('/models');
      await page.getByText('The models file has a mistake in line 3').waitFor({ timeout: 60_000 });
      gateway.writeModels(modelsFile(gateway.mock.url));
      gateway.service.child.kill('SIGHUP');
      await page.getByText('The models file has a mistake in line 3').waitFor({ state: 'detached' });
      await page.close();
    });

    test('usage by person has percentiles, and each chart its table', async () => {
      const opened = await open('/usage');
      const { page } = opened;
      await page.getByLabel('Told apart by').selectOption('person');
      const table = page.getByRole('region', { name: 'In figures' });
      await table.getByRole('columnheader', { name: 'Total, p95' }).waitFor();
      await table
        .getByRole('row')
        .filter({ hasText: '@' })
        .getByText(/\d m?s/)
        .first()
        .waitFor();
      const chart = page.locator('figure.chart', { hasText: 'Time to the first token' });
      await chart.getByText('Table').click();
      await chart.getByRole('columnheader', { name: 'p99' }).waitFor();
      expect(new URL(page.url()).searchParams.get('by')).toBe('person');
      expect(await violations(page)).toEqual([]);
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('health shows the settings in force without secrets, jobs, buffers and versions', async () => {
      const opened = await open('/health');
      const { page } = opened;
      const settings = page.getByRole('region', { name: 'Settings in force' });
      const key = settings.getByRole('row').filter({ hasText: 'BOOTSTRAP_API_KEY' });
      await key.getByText('set', { exact: true }).waitFor();
      await settings.getByRole('row').filter({ hasText: 'MODELS_CONFIG' }).getByText('models.yaml').waitFor();
      await page.getByRole('region', { name: 'Jobs' }).getByText('documents.delete-object').waitFor();
      await page.getByRole('region', { name: 'Buffers' }).getByText('Usage events on disk').waitFor();
      await page.getByText(Bun.version, { exact: true }).waitFor();
      expect(await page.content()).not.toContain(gateway.key);
      expect(await violations(page)).toEqual([]);
      await page.close();
    });

    test('each chart of the first page leads to its page', async () => {
      const { page } = await open('/');
      const leads: [chart: string, path: string][] = [
        ['Requests to models', '/admin/usage'],
        ['Errors of models', '/admin/usage'],
        ['Cost', '/admin/usage'],
        ['Usage events', '/admin/usage'],
        ['Storage', '/admin/library'],
        ['Backlog', '/admin/health'],
      ];
      for (const [chart, path] of leads) {
        const link = page.locator('figure.chart').getByRole('link', { name: chart, exact: true });
        expect(new URL((await link.getAttribute('href')) ?? '', gateway.url).pathname).toBe(path);
      }
      await page.locator('figure.chart').getByRole('link', { name: 'Backlog' }).click();
      await page.getByRole('heading', { name: 'Health', level: 1 }).waitFor();
      await page.close();
    });
  },
);
