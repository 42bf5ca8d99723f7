// The types of the operations that the portal calls, made from the OpenAPI document: `bun run docs:generate` writes them, and a
// test compares.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plugin } from 'bun';
import { describeOperations, documentInfo } from '../../src/http/document.ts';
import type { Operation } from '../../src/http/routes.ts';
import { allOperations } from './generated-pages.ts';

export const PORTAL_TYPES = join(import.meta.dir, '../../src/console/web/api-types.d.ts');

/** Below this path the portal calls the operations of the interface with its cookie (console/calls.ts). */
const CALLS_PATH = '/admin/call';

/** Unprefixed paths of models are duplicates. */
const isCalled = ({ credential, id }: Pick<Operation, 'credential' | 'id'>): boolean =>
  credential !== 'none' && credential !== 'key-or-token' && !id.endsWith('-at-root');

export async function renderPortalTypes(): Promise<string> {
  const operations = await allOperations();
  const called = operations
    .filter(({ path, ...each }) => !path.startsWith('/admin/') && isCalled(each))
    .map((each) => ({
      ...each,
      credential: 'portal' as const,
      id: `portal.${each.id}`,
      path: `${CALLS_PATH}${each.path}`,
    }));
  const own = operations.filter(({ path }) => path.startsWith('/admin/'));
  const { default: toTypes, astToString } = await loadGenerator();
  const document = { ...documentInfo('0'), ...describeOperations([...own, ...called]) };
  const types = await toTypes(JSON.parse(JSON.stringify(document, withoutRefusals)));
  return `// Made from the OpenAPI document by \`bun run docs:generate\`; a test compares.\n\n${astToString(types)}`;
}

const PROSE = new Set(['description', 'summary']);

/** The portal treats all refusals alike, and people read the descriptions in the document itself. */
function withoutRefusals(name: string, value: unknown): unknown {
  if (PROSE.has(name) && typeof value !== 'object') return undefined;
  if (name === 'example' || name === 'examples') return undefined;
  if (name !== 'responses' || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([status]) => Number(status) < 400));
}

/** The generator writes its output with TypeScript's programming interface, which TypeScript 7 does not have. */
async function loadGenerator() {
  const typescript = await import('typescript-5');
  plugin({
    name: 'typescript-5',
    setup: (build) => void build.module('typescript', () => ({ exports: typescript, loader: 'object' })),
  });
  return import('openapi-typescript');
}

if (import.meta.main) {
  writeFileSync(PORTAL_TYPES, await renderPortalTypes());
  process.exit(0);
}
