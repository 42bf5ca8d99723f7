// What goes wrong while a person works in the portal: a sign-in that ends, a key that is revoked, a service that restarts.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { bodyOf, createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { eventually, freePort } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { CHROMIUM } from './chromium.ts';
import { describePortal } from './portal.ts';

const database = CHROMIUM === null ? undefined : await shared(testDatabase());
const dataDir = freshFolder();
const environment = { PORT: String(freePort()), DATABASE_URL: database?.url ?? '' };
/** On the same port, folder and database each time. */
const start = () => startService({ dataDir, environment });

const BASE = `/admin/api/workspaces/${WORKSPACE}`;
const OFFLINE = 'The service does not answer. This page goes on';

describePortal(
  'in the portal',
  (portal) => {
    const call = (...[method, path, options]: Parameters<ReturnType<typeof createCaller>>) =>
      createCaller(portal().service.url)(method, path, { key: BOOTSTRAP_KEY, ...options });

    const makeKey = async (person: string): Promise<{ id: string; key: string }> => {
      const scopes = ['documents:read', 'documents:write', 'models', 'admin'];
      return bodyOf(
        await call('POST', `${BASE}/keys`, { json: { name: person, scopes, user_email: person } }),
        201,
      );
    };

    /** Ends every sign-in, as an administrator does. */
    const endSessions = async (): Promise<void> => {
      const { items } = bodyOf<{ items: { id: string }[] }>(await call('GET', `${BASE}/sessions`), 200);
      for (const { id } of items) expectStatus(await call('DELETE', `${BASE}/sessions/${id}`), 204);
    };

    /** Holds the first request to these addresses until `act` is done. */
    const beforeFirst = (page: Page, addresses: string, act: () => Promise<void>): Promise<unknown> => {
      let acted: Promise<void> | undefined;
      return page.route(addresses, async (route) => {
        acted ??= act();
        await acted;
        await route.continue();
      });
    };

    const choose = async (page: Page, ...names: string[]): Promise<void> => {
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose files' }).click();
      const files = names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }));
      await (await chooser).setFiles(files);
    };

    const storedNames = async (name: string): Promise<string[]> => {
      const query = { name: `eq:${name}` };
      const found = await call('GET', `/v1/filter/${WORKSPACE}`, { query });
      return bodyOf<{ items: { name: string }[] }>(found, 200).items.map((each) => each.name);
    };

    const signInAgain = async (page: Page, key = BOOTSTRAP_KEY): Promise<void> => {
      await page.getByText('Your sign-in has ended').waitFor();
      await page.getByLabel('Key').fill(key);
      await page.keyboard.press('Enter');
    };

    test('an upload whose sign-in ends goes on after the next one, and is stored once', async () => {
      const { page } = await portal().open('/library');
      // The bytes are in the store, and the confirmation is refused.
      await beforeFirst(page, '**/upload/confirm', endSessions);
      await choose(page, 'interrupted.txt', 'behind.txt');
      await signInAgain(page);
      await page.getByText('2 of 2 uploaded, 0 failed').waitFor();
      expect([await storedNames('interrupted.txt'), await storedNames('behind.txt')]).toEqual([
        ['interrupted.txt'],
        ['behind.txt'],
      ]);
      await page.close();
    });

    test('files of one person are not stored as those of the next who signs in', async () => {
      const { page } = await portal().open('/library');
      const { key } = await makeKey('next@example.com');
      await beforeFirst(page, '**/presigned/url', endSessions);
      await choose(page, 'not-theirs.txt');
      await signInAgain(page, key);
      await page.getByText('Another person has signed in since it was chosen').waitFor();
      expect(await storedNames('not-theirs.txt')).toEqual([]);
      await page.close();
    });

    test('a key that is revoked while it is used asks for another, and the page goes on where it was', async () => {
      const { id, key } = await makeKey('brief@example.com');
      const { page } = await portal().open('/people', { key });
      expectStatus(await call('DELETE', `${BASE}/keys/${id}`), 204);
      await page.getByRole('button', { name: 'Add a person' }).click();
      await page.getByLabel('E-mail').fill('nobody@example.com');
      await page.getByRole('button', { name: 'Save' }).click();
      await signInAgain(page);
      await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
      expect(await page.getByText('nobody@example.com').count()).toBe(0);
      await page.close();
    });

    test('a second tab is signed out and in together with the first', async () => {
      const { page: first } = await portal().open('/people');
      const opening = first.waitForEvent('popup');
      await first.evaluate(() => void open('/admin/keys'));
      const second = await opening;
      await second.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
      await first.getByRole('button', { name: 'Sign out' }).click();
      await second.getByRole('heading', { name: 'Sign in to Atrium' }).waitFor();
      const { key } = await makeKey('grace@example.com');
      await second.getByLabel('Key').fill(key);
      await second.keyboard.press('Enter');
      // It names the person who acts now, and does not ask for the key again.
      await first.locator('.account').getByText('grace@example.com').waitFor();
      await first.close();
      await second.close();
    });

    test('no page of another origin frames the portal', async () => {
      using other = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        fetch: () =>
          new Response(`<!doctype html><iframe src="${portal().service.url}/admin"></iframe>`, {
            headers: { 'content-type': 'text/html' },
          }),
      });
      const { page, errors } = await portal().browser.open(other.url.href);
      await eventually('the refusal', () => errors.some((error) => error.includes('frame-ancestors')));
      const framed = page.frames().find((frame) => frame !== page.mainFrame());
      expect(await framed?.locator('#app').count()).toBe(0);
      await page.close();
    });

    test('a restart of the service is announced, and pages and uploads go on by themselves', async () => {
      const { page } = await portal().open('/library');
      await portal().service.child.stop();
      await choose(page, 'patient.txt');
      await page.getByText(OFFLINE).waitFor();
      await using _again = await start();
      await page.getByText(OFFLINE).waitFor({ state: 'detached' });
      await page.getByText('1 of 1 uploaded, 0 failed').waitFor();
      await page.getByRole('link', { name: 'patient.txt' }).waitFor();
      const library = createLibrary(createCaller(portal().service.url), {
        workspace: WORKSPACE,
        key: BOOTSTRAP_KEY,
      });
      expect((await library.read('patient.txt')).name).toBe('patient.txt');
      await page.close();
    });
  },
  start,
);
