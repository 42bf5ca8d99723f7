// /docs: the OpenAPI document of the operations, and a page that shows and calls them. The page is Swagger UI from a package,
// with our script (docs-page/); it works without internet.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import { notFound } from '../core/errors.ts';
import { acceptedEncoding } from './accept.ts';
import { documentationRoutes } from './documentation.ts';
import { renderOpenApiDocument } from './openapi-document.ts';
import { type Route, route } from './operation.ts';
import { ErrorDetail } from './schemas.ts';

const compress = promisify(gzip);

const PAGE_FILES = join(import.meta.dir, 'docs-page');
const SWAGGER_UI_FILES = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** The files of the page. Ours are small and change with the service; those of the package are large and rarely change. */
const ASSETS = new Map([
  ['page.js', { folder: PAGE_FILES, mediaType: SCRIPT, caching: 'no-cache' }],
  ['page.css', { folder: PAGE_FILES, mediaType: STYLE, caching: 'no-cache' }],
  ['text.css', { folder: PAGE_FILES, mediaType: STYLE, caching: 'no-cache' }],
  ['swagger-ui-bundle.js', { folder: SWAGGER_UI_FILES, mediaType: SCRIPT, caching: 'public, max-age=3600' }],
  ['swagger-ui.css', { folder: SWAGGER_UI_FILES, mediaType: STYLE, caching: 'public, max-age=3600' }],
]);

/** The page runs only its own scripts, and connects to this service and the object store. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The document is cached for this time only, because the configuration may change. */
const DOCUMENT_TTL_MS = 1000;

export function docsRoutes(routes: readonly Route[], version: string): Route[] {
  const operations = routes.map(({ operation }) => operation);
  const describe = cachedFor(DOCUMENT_TTL_MS, () => renderOpenApiDocument(operations, version));
  const readAsset = createAssets();
  const open = { area: 'docs', method: 'GET', credential: 'none' } as const;
  return [
    route(
      {
        ...open,
        id: 'docs.page',
        path: '/docs',
        summary: 'Interactive description of the interface',
        responses: { 200: { description: 'The page', mediaType: 'text/html' } },
      },
      () =>
        new Response(Bun.file(join(PAGE_FILES, 'page.html')), {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': CONTENT_SECURITY_POLICY,
          },
        }),
    ),
    route(
      {
        ...open,
        id: 'docs.document',
        path: '/docs/json',
        summary: 'The OpenAPI document',
        responses: { 200: { description: 'OpenAPI 3.1', schema: Type.Unknown() } },
      },
      () => new Response(describe(), { headers: { 'content-type': 'application/json' } }),
    ),
    route(
      {
        ...open,
        id: 'docs.asset',
        path: '/docs/assets/{file}',
        summary: 'Script and style of the page',
        parameters: Type.Object({ file: Type.String() }),
        responses: {
          200: { description: 'The file', mediaType: 'text/javascript' },
          404: { description: 'No such file', schema: ErrorDetail },
        },
      },
      ({ path, request }) => readAsset(path.file, request),
    ),
    ...documentationRoutes(),
  ];
}

/** Compresses each file once, for browsers that accept it: Swagger UI has 1.7 MB. Throws 404 for other names. */
function createAssets() {
  const compressed = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  return async (name: string, request: Request): Promise<Response> => {
    const asset = ASSETS.get(name);
    if (asset === undefined) throw notFound('Not Found');
    const headers = {
      'content-type': asset.mediaType,
      'cache-control': asset.caching,
      vary: 'accept-encoding',
    };
    const file = Bun.file(join(asset.folder, name));
    if (acceptedEncoding(request, ['gzip']) === undefined) return new Response(file, { headers });
    const body = compressed.get(name) ?? file.bytes().then((bytes) => compress(bytes));
    compressed.set(name, body);
    return new Response(await body, { headers: { ...headers, 'content-encoding': 'gzip' } });
  };
}

function cachedFor(ttlMs: number, render: () => string): () => string {
  let cached = '';
  let expiresAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() < expiresAtMs) return cached;
    cached = render();
    expiresAtMs = performance.now() + ttlMs;
    return cached;
  };
}
