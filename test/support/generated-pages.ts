// Pages of the documentation that are made from the code: `bun test/support/generated-pages.ts` writes them, and a test
// tells when they have become old.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAreas } from '../../src/areas.ts';
import { loadConfig, renderSettings } from '../../src/config.ts';
import { createLogger } from '../../src/core/logger.ts';
import { docsRoutes } from '../../src/http/docs.ts';
import { healthRoutes } from '../../src/http/health.ts';
import { createRequestMetrics } from '../../src/http/metrics.ts';
import type { Operation, Route } from '../../src/http/operation.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { INTERFACE_TYPES } from '../../src/usage/event-types.ts';
import { renderFaults } from '../gateway/faults/expected.ts';

const ROOT = join(import.meta.dir, '../..');

/** Every route of the service. Nothing is connected: clients connect when they are first used. */
export function allRoutes(): Route[] {
  const log = createLogger({ level: 'silent', format: 'json' });
  const config = loadConfig({});
  const sql = connectPostgres({
    url: 'postgres://nobody@127.0.0.1:1/nothing',
    applicationName: 'pages',
    log,
  });
  const objects = createObjectStore({
    endpoint: 'http://127.0.0.1:1',
    publicEndpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    bucket: 'atrium',
    accessKeyId: 'none',
    secretAccessKey: 'none',
    formProfile: 'standard',
  });
  const { routes, checks } = createAreas(config, { sql, searchSql: sql, objects }, log);
  const metrics = createRequestMetrics();
  const described = [
    ...routes,
    ...healthRoutes({ version: '0', checks, figures: [], metrics, ending: () => false }),
  ];
  return [...described, ...docsRoutes(described, '0')];
}

function renderOperations(operations: readonly Operation[]): string {
  const rows = operations.map(({ method, path, area, credential, scope, responses }) => {
    const statuses = Object.keys(responses).join(' ');
    return `| ${method} | \`${path}\` | ${area} | ${credential === 'none' ? '–' : (scope ?? 'any')} | ${statuses} |`;
  });
  return `# Operations

Made from the code by \`bun test/support/generated-pages.ts\`; a test compares. Any operation can also answer 500 with
\`{"detail": "Internal Server Error"}\`, 503 while the service ends, and 431 without a body where the request's line and headers
are more than 64 KiB.

| method | path | area | scope | statuses |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

/** Type → the calls that cause it, in the order of the interface's table. */
function renderEvents(operations: readonly Operation[]): string {
  const rows = [...INTERFACE_TYPES].map((type) => {
    const causes = operations.filter(({ events }) => events?.includes(type));
    return `| \`${type}\` | ${causes.map(({ method, path }) => `\`${method} ${path}\``).join('<br>')} |`;
  });
  return `# Events

Which call causes which event of the service's own. Made from the code by \`bun test/support/generated-pages.ts\`; a test
compares, and another makes each call and reads its event back. An answer is \`messages.rag.<kind>.new\` by the kind of the
agent that gives it. A call that changes nothing (a message that was answered before, a session that is as it was) causes
none.

| type | caused by |
|---|---|
${rows.join('\n')}
`;
}

function renderReadme(readme: string): string {
  const [start, end] = ['<!-- settings -->', '<!-- /settings -->'];
  const before = readme.slice(0, readme.indexOf(start) + start.length);
  return `${before}\n\n\`\`\`\n${renderSettings()}\n\`\`\`\n\n${readme.slice(readme.indexOf(end))}`;
}

/** Path → the text that it should have. */
export function generatedPages(): Map<string, string> {
  const operations = allRoutes().map(({ operation }) => operation);
  return new Map([
    [join(ROOT, 'docs/operations.md'), renderOperations(operations)],
    [join(ROOT, 'docs/gateway-faults.md'), renderFaults()],
    [join(ROOT, 'docs/events.md'), renderEvents(operations)],
    [join(ROOT, 'README.md'), renderReadme(readFileSync(join(ROOT, 'README.md'), 'utf8'))],
  ]);
}

if (import.meta.main) {
  for (const [path, text] of generatedPages()) writeFileSync(path, text);
  process.exit(0);
}
