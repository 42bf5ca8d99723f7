// A person who signs in at a provider of another site, by clicking.

import { describe, expect, test } from 'bun:test';
import { CLIENT_ID, CLIENT_SECRET, startProvider } from '../support/oidc/provider.ts';
import { startService, WORKSPACE } from '../support/service.ts';
import { CHROMIUM, launchBrowser } from './chromium.ts';
import { violations } from './portal.ts';

const ROLES = [{ group: 'administrators', workspace: WORKSPACE, scopes: ['admin'] }];

describe.skipIf(CHROMIUM === null)(
  `single sign-on in a browser${CHROMIUM === null ? ' (chromium is not installed)' : ''}`,
  () => {
    test('a person signs in at the provider, goes on where the sign-in was missing, and signs out at both', async () => {
      await using provider = await startProvider();
      await using service = await startService({
        environment: {
          OIDC_ISSUER: provider.issuer,
          OIDC_CLIENT_ID: CLIENT_ID,
          OIDC_CLIENT_SECRET: CLIENT_SECRET,
          OIDC_ROLES: JSON.stringify(ROLES),
          OIDC_NAME: 'Example Login',
        },
      });
      provider.register(service.url);
      provider.people.set('guest', { email: 'guest@example.com', email_verified: true, groups: [] });
      provider.people.set('ada', {
        email: 'ada@example.com',
        email_verified: true,
        groups: ['administrators'],
      });
      await using browser = await launchBrowser();
      const { page } = await browser.open(`${service.url}/admin/keys`);
      const signIn = page.getByRole('link', { name: 'Sign in with Example Login' });
      await signIn.waitFor();
      expect(await violations(page)).toEqual([]);

      await signIn.click();
      await page.getByLabel('Name').fill('guest');
      await page.getByRole('button', { name: 'Go' }).click();
      await page.getByText('None of your groups at Example Login opens a workspace here.').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.context().clearCookies({ domain: 'localhost' });

      await page.goto(`${service.url}/admin/keys`);
      await signIn.click();
      await page.getByLabel('Name').fill('ada');
      await page.getByRole('button', { name: 'Go' }).click();
      await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
      expect(page.url()).toBe(`${service.url}/admin/keys`);
      await page.getByText('ada@example.com').first().waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();

      // As Back may repeat it.
      await page.goto(`${service.url}/admin/sign-on/callback?code=used&state=used`);
      await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();

      await page.getByRole('button', { name: 'Sign out' }).click();
      // The provider asks, too, by a button of the same name.
      await page.waitForURL((url) => url.origin === provider.issuer);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn.waitFor();
      await signIn.click();
      await page.getByLabel('Name').waitFor();
    });
  },
);
