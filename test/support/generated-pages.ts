// Pages of the documentation that are made from the code: `bun run docs:generate` writes them, and a test
// tells when they have become old.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMANDS } from '../../src/admin/commands.ts';
import { createApp } from '../../src/app.ts';
import { createAreas } from '../../src/areas.ts';
import { loadConfig } from '../../src/config.ts';
import type { ErrorKind } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { Setting } from '../../src/core/settings-reader.ts';
import { createCors } from '../../src/http/cors.ts';
import { STATUS } from '../../src/http/failures.ts';
import { createHttp } from '../../src/http/http.ts';
import { OPENAI_ERRORS } from '../../src/http/openai-error.ts';
import type { Operation } from '../../src/http/routes.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { SETTINGS } from '../../src/settings.ts';
import { INTERFACE_TYPES } from '../../src/usage/event-types.ts';
import { renderFaults } from '../gateway/faults/expected.ts';
import { guarantees } from '../mutants/guarantees.ts';
import { DASHBOARDS, renderDashboard } from './dashboards.ts';
import { HARD_FILES } from './hard-files.ts';

const ROOT = join(import.meta.dir, '../..');

/** Every operation of the service that its document describes. Nothing is connected: clients connect when they are first used. */
export async function allOperations(): Promise<Operation[]> {
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
  const shutdown = new AbortController().signal;
  const http = createHttp({
    authenticators: () => areas.authenticators,
    cors: createCors([]),
    log,
    access: () => undefined,
    explainFailure: () => undefined,
    shutdown,
  });
  const clients = { sql, searchSql: sql, objects };
  const areas = await createAreas(config, clients, { http, shutdown, log });
  const health = {
    version: '0',
    checks: areas.checks,
    metrics: [],
    requestMetrics: http.requestMetrics,
    ending: () => false,
    siblings: undefined,
  };
  createApp({
    http,
    areas,
    health,
    settings: { settings: [], versions: async () => ({}) },
    console: { storeOrigin: 'http://127.0.0.1:1' },
    version: '0',
  });
  return http.operations().filter(({ isHidden }) => !isHidden);
}

function renderOperations(operations: readonly Operation[]): string {
  const rows = operations.map(({ method, path, area, credential, scope, responses }) => {
    const statuses = Object.keys(responses).join(' ');
    return `| ${method} | \`${path}\` | ${area} | ${credential === 'none' ? '–' : (scope ?? 'any')} | ${statuses} |`;
  });
  return `# Operations

Made from the code by \`bun run docs:generate\`; a test compares. Any operation can also answer 500 with
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

Which call causes which event of the service's own. Made from the code by \`bun run docs:generate\`; a test
compares, and another makes each call and reads its event back. An answer is \`messages.rag.<kind>.new\` by the kind of the
agent that gives it. A call that changes nothing (a message that was answered before, a session that is as it was) causes
none.

| type | caused by |
|---|---|
${rows.join('\n')}
`;
}

/** Action → the calls and commands that write it. */
function renderAudit(operations: readonly Operation[]): string {
  const calls = operations.flatMap(({ audits = [], method, path }) =>
    audits.map((action) => ({ action, by: `\`${method} ${path}\`` })),
  );
  const commands = COMMANDS.flatMap(({ audits = [], words }) =>
    audits.map((action) => ({ action, by: `\`bun run admin ${words}\`` })),
  );
  const written = Map.groupBy([...calls, ...commands], ({ action }) => action);
  const rows = [...written].map(
    ([action, by]) => `| \`${action}\` | ${by.map((each) => each.by).join('<br>')} |`,
  );
  return `# Audited actions

Which call writes which action to the audit log; a command of the same operation writes it, too. Made from the code by
\`bun run docs:generate\`; a test compares, and another makes each change. Retention of the bin writes \`documents.purge\`.

| action | written by |
|---|---|
${rows.join('\n')}
`;
}

function renderSettingsPage(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, { kind, meaning, secret, ...setting }]) => {
    const usual = setting.default === undefined ? setting.otherwise : `\`${setting.default}\``;
    return `| \`${name}\`${secret ? ' (secret)' : ''} | ${usual} | ${kind.allowed} | ${meaning} |`;
  });
  return `# Settings

All come from the environment. Values that are not allowed stop the start, which names all of them, a line each; a secret one is
not shown there. Sizes and times are in the unit of the name (\`…_BYTES_MAX\`, \`…_SECONDS\`), or have one: \`5GB\` (powers of 1000),
\`1GiB\` (powers of 1024), \`500ms\`, \`30s\`, \`5m\`, \`12h\`, \`7d\`. A variable that looks like a setting and is none, such as
\`DATABSE_URL\`, is told with a warning; with \`STRICT_SETTINGS=true\` it stops the start. Each secret one can come from a file instead: \`NAME_FILE\` is the path of the file that holds \`NAME\`, without the
line break at its end. So can the variables of the models file. \`bun run start --help\` lists the settings, too. Made from \`src/settings.ts\` by \`bun run docs:generate\`; a test compares.

| setting | default | allowed | meaning |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** Settings that the chart gives the service itself. */
const OF_CHART = [
  'HOST',
  'PORT',
  'DATA_DIR',
  'OBJECT_STORE_PORT',
  'MODELS_CONFIG',
  'SHUTDOWN_TIMEOUT_MS',
  'SHUTDOWN_DELAY_MS',
];
const CHART_SCHEMA = join(ROOT, 'deploy/helm/atrium/values.schema.json');
const ALERTS = join(ROOT, 'deploy/prometheus/alerts.yaml');
/** A chart can read its own files alone. */
const CHART_ALERTS = join(ROOT, 'deploy/helm/atrium/alerts.yaml');

/** The schema of the chart's values, with the settings of the service that are not secret. */
function renderChartSchema(): string {
  const schema = JSON.parse(readFileSync(CHART_SCHEMA, 'utf8'));
  const settings = Object.entries<Setting>(SETTINGS).filter(
    ([name, { secret }]) => secret !== true && !OF_CHART.includes(name),
  );
  schema.properties.settings.properties = Object.fromEntries(
    settings.map(([name, { meaning }]) => [
      name,
      { type: ['string', 'integer', 'boolean'], description: meaning },
    ]),
  );
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

const READING_SHOWN_MAX = 200;

/** What comes out of files that are hard to read. */
function renderReading(): string {
  const rows = HARD_FILES.map(({ format, hard, text, lost }) => {
    const shown = text.length > READING_SHOWN_MAX ? `${text.slice(0, READING_SHOWN_MAX)}…` : text;
    const cell = shown
      .replaceAll('|', '\\|')
      .replaceAll('<', '&lt;')
      .replaceAll('\t', ' ⇥ ')
      .replaceAll('\n\n', ' ¶ ')
      .replaceAll('\n', ' ↵ ');
    return `| ${format} | ${hard} | ${cell} | ${lost ?? '–'} |`;
  });
  return `# Reading

The text that comes out of files that are hard to read: ⇥ divides cells, ↵ lines, ¶ paragraphs. Made from the files of the tests by
\`bun run docs:generate\`; [Reading](../decisions/021-reading.md) has the reasons. A test reads each file and compares the
whole text.

| format | file | text | lost or wrong |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** What a refusal means, for a person who meets its status. */
const MEANINGS: Record<ErrorKind, string> = {
  malformed: 'the request is not in a form that the service has given out or can read',
  unauthenticated: 'the credential is missing, unknown, expired or revoked',
  forbidden: 'the credential is good, and may not do this',
  'not-found': 'there is no such thing, or the caller may not see it',
  'request-timeout': 'the request did not arrive whole in time; the connection is closed',
  conflict: 'the state of the thing does not allow this',
  gone: 'a cursor is of no use any more; begin anew without one',
  'too-large': 'the body is larger than the operation takes',
  'unsupported-media-type': 'the operation does not take this content type or encoding',
  'too-many-requests': 'a limit of the key or a queue is full; `Retry-After` says when it may go on',
  'not-implemented': 'nothing that is configured can do this',
  'upstream-failed': 'the upstream refused, hung up, or answered nonsense',
  'upstream-timeout': 'the upstream did not answer in time',
  unavailable: 'a backing service is away, or the service ends; `Retry-After` says when to come again',
};

function renderErrors(): string {
  const rows = Object.entries(STATUS).map(([kind, status]) => {
    const { type, code } = OPENAI_ERRORS[kind as ErrorKind];
    return `| ${status} | ${MEANINGS[kind as ErrorKind]} | \`${type}\` | ${code === null ? '–' : `\`${code}\``} |`;
  });
  return `# Errors

Made from the code by \`bun run docs:generate\`; a test compares. An error is \`{"detail": "A sentence."}\`. The operations of the
gateway answer as OpenAI does: \`{"error": {"message", "type", "param", "code"}}\`, and an operation may give a more exact code. Input that does not fit its schema is 422, with
one entry for each mistake: \`{"detail": [{"type", "loc", "msg", "input"}]}\`, as FastAPI and pydantic v2 write them; the gateway
answers 400 for it. A fault of the service itself is 500, \`{"detail": "Internal Server Error"}\`.

Every answer has the header \`X-Request-ID\`, which the log has, too.

| status | what it means | type in OpenAI's form | code |
|---|---|---|---|
${rows.join('\n')}
`;
}

function renderGuarantees(): string {
  const rows = guarantees.map(({ says, tests, mistakes }) => {
    const paths = tests.map((path) => `\`${path}\``).join(', ');
    return `| ${says} | ${paths} | ${mistakes.join('; ')} |`;
  });
  return `# Guarantees

Made from \`test/mutants/guarantees.ts\` by \`bun run docs:generate\`; a test compares. Each guarantee has the tests that show it,
and mistakes that one of these tests has to notice. \`bun run test:guarantees\` plants each of them in a copy of the tree and runs
the test: it has to fail. It runs on demand: a mistake takes seconds, or a minute or two where its test starts a browser or kills
servers; all of the guarantees take half an hour on two cores. With words (\`bun run test:guarantees search\`) it plants only
those whose guarantee, sentence, file or test has one of them. \`bun run test:mutants\` does the same with all planted
mistakes (\`test/mutants/planted/\`), in an hour and a half, and counts those of each area that were noticed.

| guarantee | tests | mistakes that turn one red |
|---|---|---|
${rows.join('\n')}
`;
}

/** Path → the text that it should have. */
export async function generatedPages(): Promise<Map<string, string>> {
  const operations = await allOperations();
  return new Map([
    [join(ROOT, 'docs/reference/operations.md'), renderOperations(operations)],
    [join(ROOT, 'docs/reference/gateway-faults.md'), renderFaults()],
    [join(ROOT, 'docs/reference/reading.md'), renderReading()],
    [join(ROOT, 'docs/reference/events.md'), renderEvents(operations)],
    [join(ROOT, 'docs/reference/audit.md'), renderAudit(operations)],
    [join(ROOT, 'docs/reference/settings.md'), renderSettingsPage()],
    [CHART_ALERTS, readFileSync(ALERTS, 'utf8')],
    [join(ROOT, 'docs/reference/errors.md'), renderErrors()],
    [join(ROOT, 'docs/reference/guarantees.md'), renderGuarantees()],
    ...DASHBOARDS.map((dashboard): [string, string] => [
      join(ROOT, `deploy/grafana/${dashboard.uid}.json`),
      renderDashboard(dashboard),
    ]),
    [CHART_SCHEMA, renderChartSchema()],
  ]);
}

if (import.meta.main) {
  for (const [path, text] of await generatedPages()) writeFileSync(path, text);
  process.exit(0);
}
