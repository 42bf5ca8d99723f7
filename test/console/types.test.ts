import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { PORTAL_TYPES, renderPortalTypes } from '../support/portal-types.ts';

test('the types of the portal are up to date (bun run docs:generate)', async () => {
  expect(readFileSync(PORTAL_TYPES, 'utf8')).toBe(await renderPortalTypes());
});
