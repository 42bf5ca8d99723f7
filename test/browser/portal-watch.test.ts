// As an administrator who watches the service in the portal: what was used, what is stored, what was refused, who did what.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { bodyOf, createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { eventually } from '../support/child.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { CHROMIUM } from './chromium.ts';
import { describePortal, unexpected } from './portal.ts';

const database = CHROMIUM === null ? undefined : await shared(testDatabase());
const start = () => startService({ environment: { DATABASE_URL: database?.url ?? '' } });
const BASE = `/admin/api/workspaces/${WORKSPACE}`;

/** An event that the database has refused, as the sink keeps it. */
async function refuseEvent({ sql }: TestDatabase, type: string): Promise<void> {
  const row = encodeRow({
    id: newId(),
    eventId: newId(),
    workspaceId: WORKSPACE,
    type,
    source: 'test',
    subject: '',
    timeMicroseconds: 1_000_000n,
    data: '{"value":1}',
    extensions: null,
    value: '1',
  });
  await createDeadLetterStore(sql).add({ workspaceId: WORKSPACE, reason: 'out of range', row });
}

describePortal(
  'in the portal an administrator',
  (portal) => {
    const call = (...[method, path, options]: Parameters<ReturnType<typeof createCaller>>) =>
      createCaller(portal().service.url)(method, path, { key: BOOTSTRAP_KEY, ...options });
    const metrics = () =>
      createMetrics(createCaller(portal().service.url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });

    test('sees what models were used for, by key and as CSV, and the address keeps the view', async () => {
      const json = { model: 'local-echo', messages: [{ role: 'user', content: 'hello' }] };
      expectStatus(await call('POST', '/v1/chat/completions', { json }), 200);
      await eventually('the call to be counted', async () => {
        const sums = await call('GET', `${BASE}/model-usage`, { query: { group_by: 'model' } });
        return bodyOf<{ items: unknown[] }>(sums, 200).items.length > 0;
      });
      const opened = await portal().open('/usage');
      const { page } = opened;
      const row = page.getByRole('row').filter({ hasText: 'local-echo' });
      await row.waitFor();
      expect(await row.getByRole('cell').nth(1).textContent()).toBe('1');
      await page.getByLabel('Told apart by').selectOption('key');
      await page.getByRole('row').filter({ hasText: 'bootstrap' }).waitFor();
      await page.getByLabel('Period').selectOption('7');
      await page.reload();
      await page.getByRole('row').filter({ hasText: 'bootstrap' }).waitFor();
      expect(await page.getByLabel('Period').inputValue()).toBe('7');
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV' }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).toBe('model-usage-by-key.csv');
      expect(readFileSync(await saved.path(), 'utf8')).toMatch(/^key,requests,.*\r\nbootstrap .*,1,/);
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('sums usage events by type, and goes from a type to its people', async () => {
      for (const value of [1, 2])
        expectStatus(
          await metrics().send(
            eventOf({ type: 'shop.sale', source: 'shop', subject: 'ada@example.com', data: { value } }),
          ),
          202,
        );
      await metrics().stored('shop', 2);
      const { page } = await portal().open('/usage');
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Events' }).click();
      await page.getByRole('link', { name: 'shop.sale' }).click();
      const row = page.getByRole('row').filter({ hasText: 'ada@example.com' });
      await row.waitFor();
      expect(await row.getByRole('cell').allTextContents()).toEqual(['ada@example.com', '2', '3']);
      await page.getByRole('link', { name: 'All types' }).click();
      await page
        .getByRole('cell', { name: 'nobody' })
        .or(page.getByRole('cell', { name: 'ada' }))
        .first()
        .waitFor();
      await page.close();
    });

    test('pauses the events as they come, and follows them again', async () => {
      const { page } = await portal().open('/events');
      await page.getByText('New events appear by themselves.').waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      await metrics().send(eventOf({ type: 'while.paused', source: 'pause' }));
      await metrics().stored('pause', 1);
      await page.getByText('Not following.').waitFor();
      expect(await page.getByText('while.paused').count()).toBe(0);
      await page.getByRole('button', { name: 'Follow' }).click();
      await page.getByText('while.paused').waitFor();
      await page.close();
    });

    test('sends a dead letter again, deletes another, and reads the reason of each', async () => {
      const opened = await portal().open('/events?view=dead');
      const { page } = opened;
      await page.getByText('No dead letters').waitFor();
      for (const type of ['dead.kept', 'dead.deleted']) await refuseEvent(database as TestDatabase, type);
      await page.reload();
      const deleted = page.getByRole('row').filter({ hasText: 'dead.deleted' });
      await deleted.getByText('out of range').waitFor();
      await deleted.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await deleted.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Send again' }).first().click();
      await page.getByText('No dead letters').waitFor();
      await page.getByRole('link', { name: 'As they come' }).click();
      await page.getByText('dead.kept').first().waitFor();
      expect(await page.getByText('dead.deleted').count()).toBe(0);
      expect(unexpected(opened)).toEqual([]);
      await page.close();
    });

    test('sees each part of the service with its state, and the version', async () => {
      const { page } = await portal().open('/health');
      for (const part of ['postgres', 'object_store', 'usage_events'])
        await page.getByRole('row').filter({ hasText: part }).getByText('ready').first().waitFor();
      const { version } = (await (await fetch(portal().service.url)).json()) as { version: string };
      await page.getByText(`Atrium ${version}`).waitFor();
      await page.close();
    });

    test('opens a change of the audit log, and filters by who made it', async () => {
      const made = await call('POST', `${BASE}/users`, { json: { email: 'lin@example.com', name: 'Lin' } });
      const { id } = bodyOf<{ id: string }>(made, 201);
      const renamed = await call('PATCH', `${BASE}/users/${id}`, { json: { name: 'Lin Ma' } });
      expectStatus(renamed, 200);
      const { page } = await portal().open('/audit');
      const row = page.getByRole('row').filter({ hasText: 'access.update-user' });
      await row.locator('summary').click();
      await row.getByText('Lin → Lin Ma').waitFor();
      await row.getByRole('link', { name: /^user / }).click();
      // Only the rows of this person stay.
      await page.getByText('by itself').first().waitFor({ state: 'detached' });
      await page.getByRole('row').filter({ hasText: 'access.create-user' }).waitFor();
      expect(await page.getByLabel('Object').inputValue()).toBe(`user:${id}`);
      await page.getByLabel('Who').fill('nobody@example.com');
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByText('No change fits').waitFor();
      await page.close();
    });

    test('changes and deletes a person, and opens the keys of another workspace', async () => {
      const { page } = await portal().open('/people');
      await page.getByRole('button', { name: 'Add a person' }).click();
      await page.getByLabel('E-mail').fill('joan@example.com');
      await page.getByRole('button', { name: 'Save' }).click();
      const row = page.getByRole('row').filter({ hasText: 'joan@example.com' });
      await row.getByRole('button', { name: 'Change' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Joan');
      await page.getByRole('button', { name: 'Save' }).click();
      await row.getByText('Joan', { exact: true }).waitFor();
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await row.waitFor({ state: 'detached' });

      await page.getByRole('link', { name: 'Workspaces' }).click();
      await page.getByRole('button', { name: 'Create a workspace' }).click();
      await page.getByLabel('Identifier').fill('globex');
      await page.getByRole('dialog').getByRole('button', { name: 'Create a workspace' }).click();
      await page.getByRole('row').filter({ hasText: 'globex' }).getByRole('link', { name: 'Keys' }).click();
      await page.getByText('You are looking at the workspace globex.').waitFor();
      await page.getByText('No keys yet').waitFor();
      await page.getByRole('link', { name: 'Back to your own' }).click();
      await page.getByRole('row').filter({ hasText: 'this sign-in' }).waitFor();
      await page.close();
    });

    test('ends the sign-in of another browser', async () => {
      const { page: other } = await portal().open('/health');
      const { page } = await portal().open('/sessions');
      const row = page.getByRole('row').filter({ hasNotText: 'this one' });
      await row.getByRole('button', { name: 'End' }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      // That page asks every few seconds by itself.
      await other.getByText('Your sign-in has ended').waitFor();
      await page.close();
      await other.close();
    });
  },
  start,
);
