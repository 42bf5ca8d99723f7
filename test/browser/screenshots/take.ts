// Takes the pictures of the portal's pages, with a workspace as a company has one: those of docs/guides/portal.md
// (`bun run docs:screenshots`), or every page in every form into a folder, to look at them (`SCREENSHOTS=/tmp/pages bun run docs:screenshots`).

import { test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testDatabase } from '../../support/database.ts';
import { startMockUpstream } from '../../support/mock-upstream.ts';
import { type RunningService, startService } from '../../support/service.ts';
import { launchBrowser, type OpenBrowser, type OpenPage } from '../chromium.ts';
import { openPortal, settled } from '../portal.ts';
import { withPalette } from './palette.ts';
import { fillWorkspace, type Sample } from './sample.ts';

type Form = 'light' | 'dark' | 'narrow' | 'large';
type Shot = {
  name: string;
  path: string;
  /** The forms in the guide. */
  forms: readonly Form[];
  /** Before anybody has signed in. */
  isAnonymous?: boolean;
  /** What is done on the page first. */
  act?(page: OpenPage['page']): Promise<void>;
};

const GUIDE = join(import.meta.dir, '../../../docs/guides/portal');
const FORMS: Record<Form, { width: number; height: number; colorScheme: 'light' | 'dark' }> = {
  light: { width: 1200, height: 760, colorScheme: 'light' },
  dark: { width: 1200, height: 760, colorScheme: 'dark' },
  narrow: { width: 360, height: 740, colorScheme: 'light' },
  large: { width: 3840, height: 2160, colorScheme: 'light' },
};

const ask = async (page: OpenPage['page']): Promise<void> => {
  await page.getByLabel('Message').fill('Which pump fits a house with two floors?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByText(/tokens/)
    .last()
    .waitFor();
};
const compare = async (page: OpenPage['page']): Promise<void> => {
  await page.getByLabel('Texts').fill('invoice of May\ninvoice of June\nmanual of the pump\nlighthouse');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.locator('.matrix').waitFor();
};

const shotsOf = ({ document, table, session }: Sample): Shot[] => [
  { name: 'sign-in', path: '/sign-in', forms: ['light'], isAnonymous: true },
  { name: 'home', path: '', forms: ['light', 'dark', 'narrow'] },
  { name: 'library', path: '/library', forms: ['light', 'dark', 'narrow'] },
  { name: 'document', path: `/library?document=${document}`, forms: ['light'] },
  { name: 'document-text', path: `/library?document=${document}&show=text`, forms: ['light'] },
  { name: 'passages', path: `/library?document=${document}&show=passages`, forms: [] },
  { name: 'texts', path: '/library?view=texts', forms: [] },
  {
    name: 'knowledge',
    path: '/knowledge?q=Which+key+loosens+the+bolts+of+the+pump%3F',
    forms: ['light', 'dark', 'narrow'],
  },
  { name: 'table', path: `/library?document=${table}`, forms: [] },
  { name: 'archive', path: '/library?view=archive', forms: [] },
  { name: 'bin', path: '/library?view=bin', forms: [] },
  {
    name: 'playground',
    path: '/playground?model=gpt-4o-mini&other=claude-haiku',
    forms: ['light', 'dark'],
    act: ask,
  },
  { name: 'embeddings', path: '/playground?view=embeddings', forms: ['light'], act: compare },
  { name: 'conversations', path: '/conversations', forms: ['light', 'dark'] },
  { name: 'conversation', path: `/conversations?session=${session}`, forms: ['light', 'narrow'] },
  { name: 'models', path: '/models', forms: ['light', 'dark'] },
  { name: 'agents', path: '/agents', forms: ['light', 'dark'] },
  { name: 'agent', path: '/agents?agent=id%3Areception', forms: ['light'] },
  { name: 'agent-new', path: '/agents?agent=new', forms: [] },
  { name: 'bots', path: '/bots', forms: ['light', 'dark'] },
  { name: 'bot', path: '/bots?bot=id%3Ahelpdesk', forms: ['light'] },
  { name: 'bot-new', path: '/bots?bot=new', forms: [] },
  { name: 'usage', path: '/usage', forms: ['light', 'dark', 'narrow'] },
  { name: 'usage-events', path: '/usage?view=events', forms: ['light'] },
  { name: 'events', path: '/events', forms: ['light', 'dark'] },
  { name: 'events-dead', path: '/events?view=dead', forms: [] },
  { name: 'health', path: '/health', forms: ['light', 'dark'] },
  { name: 'audit', path: '/audit', forms: ['light', 'dark', 'narrow'] },
  { name: 'keys', path: '/keys', forms: ['light', 'dark', 'narrow'] },
  { name: 'keys-new', path: '/keys?new', forms: ['light'] },
  { name: 'people', path: '/people', forms: ['light', 'dark'] },
  { name: 'workspaces', path: '/workspaces', forms: ['light', 'dark'] },
  { name: 'reading', path: '/workspaces?reading=acme', forms: [] },
  { name: 'sessions', path: '/sessions', forms: ['light', 'dark'] },
  { name: 'components', path: '/components', forms: [] },
  { name: 'missing', path: '/nothing-here', forms: [] },
];

/** Models of two providers, which the mock is. */
const MODELS = (url: string): string => `
upstreams:
  main: { base_url: "${url}/v1", api_key: sample }
  second: { kind: anthropic, base_url: "${url}", api_key: sample }
models:
  gpt-4o-mini:
    endpoints: [chat]
    targets: [{ upstream: main, model: ok }]
    fallbacks: [claude-haiku]
    price: { input_per_million: 0.15, output_per_million: 0.6 }
  gpt-4o:
    endpoints: [chat]
    targets: [{ upstream: main, model: status-503 }]
    price: { input_per_million: 2.5, output_per_million: 10 }
  claude-haiku:
    endpoints: [chat]
    targets: [{ upstream: second, model: ok }]
    price: { input_per_million: 1, output_per_million: 5 }
  text-embedding-3-small:
    endpoints: [embeddings]
    targets: [{ upstream: main, model: ok }]
    price: { input_per_million: 0.02 }
defaults: { chat: gpt-4o-mini }
`;

test('the pages of the portal have their pictures', async () => {
  const chosen = process.env['SCREENSHOTS'];
  const folder = chosen ?? GUIDE;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'atrium-screenshots-'));
  await using upstream = await startMockUpstream();
  await using database = await testDatabase();
  const models = join(scratch, 'models.yaml');
  writeFileSync(models, MODELS(upstream.url));
  await using service = await startService({
    environment: { DATABASE_URL: database.url, MODELS_CONFIG: models, CONTENT: 'on' },
  });
  await using browser = await launchBrowser();
  const sample = await fillWorkspace({ url: service.url, sql: database.sql });
  const only = process.env['ONLY']?.split(',');
  for (const form of Object.keys(FORMS) as Form[]) {
    const wanted = shotsOf(sample)
      .filter(({ name }) => only === undefined || only.includes(name))
      .filter(({ forms }) => chosen !== undefined || forms.includes(form));
    if (wanted.length > 0) await takeAll({ form, wanted, folder, browser, service });
  }
  rmSync(scratch, { recursive: true, force: true });
}, 900_000);

async function takeAll({
  form,
  wanted,
  folder,
  browser,
  service,
}: {
  form: Form;
  wanted: readonly Shot[];
  folder: string;
  browser: OpenBrowser;
  service: RunningService;
}): Promise<void> {
  const { width, height, colorScheme } = FORMS[form];
  const signedIn = await openPortal({ browser, url: service.url }, '', { colorScheme });
  const anonymous = await browser.open(`${service.url}/admin`, { colorScheme });
  for (const { name, path, act, isAnonymous } of wanted) {
    const opened = isAnonymous ? anonymous : signedIn;
    const { page } = opened;
    await page.setViewportSize({ width, height });
    await page.goto(`${service.url}/admin${path}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    if (name !== 'components') await settled(path, opened);
    await act?.(page);
    await page.evaluate(() => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    });
    const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    writeFileSync(join(folder, `${name}-${form}.png`), withPalette(png));
  }
  await anonymous.page.context().close();
  await signedIn.page.context().close();
}
