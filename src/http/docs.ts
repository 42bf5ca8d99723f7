// /docs: the OpenAPI document of the operations, a page that shows and calls them (Swagger UI from a package, with our script in
// docs-page/), and the folder docs/ of this version as pages. All of it works without internet.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { swagger } from '@elysiajs/swagger';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { notFound } from '../core/errors.ts';
import { acceptedEncoding } from './accept.ts';
import { describeOperations, documentInfo } from './document.ts';
import type { Http } from './http.ts';
import { parameters } from './input.ts';
import { answerTextPage, OVERVIEW_PATH } from './text-page.ts';

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

/** The document, by @elysiajs/swagger, from what the routes of the table state; the page, which that package takes from a CDN, is ours. */
export function createDocs(http: Http, version: string) {
  const describe = cachedFor(DOCUMENT_TTL_MS, () => describeOperations(http.operations()));
  const readAsset = createAssets();
  const readPage = createPages();
  return new Elysia({ name: 'docs', tags: ['docs'] })
    .use(http.plugin)
    .use(
      swagger({
        path: '/docs',
        documentation: {
          ...documentInfo(version),
          // Read for each request: examples and choices may depend on the configuration.
          get tags() {
            return describe().tags;
          },
          get paths() {
            return describe().paths;
          },
          get components() {
            return describe().components;
          },
        },
      }),
    )
    .get(
      '/docs',
      () =>
        new Response(Bun.file(join(PAGE_FILES, 'page.html')), {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': CONTENT_SECURITY_POLICY,
          },
        }),
      { detail: { hide: true } },
    )
    .get('/docs/assets/:file', ({ params: { file }, request }) => readAsset(file, request), {
      params: parameters(Type.Object({ file: Type.String() })),
      detail: { hide: true },
    })
    .get('/docs/pages/*', ({ params: { page } }) => readPage(page), {
      params: parameters(Type.Object({ page: Type.String() })),
      detail: { hide: true },
    });
}

const FOLDER = join(import.meta.dir, '../../docs');
const IMAGES: Record<string, string> = { png: 'image/png', svg: 'image/svg+xml' };

/** The pages of the folder docs/. Relative links work, because each has the place that it has there. Throws 404 for other names. */
function createPages() {
  let files: ReadonlySet<string> | undefined;
  const rendered = new Map<string, string>();
  return (page: string): Response => {
    files ??= new Set(new Bun.Glob('**/*.{md,png,svg}').scanSync(FOLDER));
    if (!files.has(page)) throw notFound('Not Found');
    const mediaType = IMAGES[page.slice(page.lastIndexOf('.') + 1)];
    if (mediaType !== undefined)
      return new Response(Bun.file(join(FOLDER, page)), { headers: { 'content-type': mediaType } });
    const body = rendered.get(page) ?? renderPage(page, files);
    rendered.set(page, body);
    return answerTextPage(`${page} – Atrium`, body);
  };
}

/** A link that leads out of the folder, to files of the repository, is text; so is a picture that is not here. */
function renderPage(page: string, files: ReadonlySet<string>): string {
  const isHere = (target: string | null): boolean => {
    if (target === null || /^(?:[a-z]+:|#|\/)/.test(target)) return true;
    return files.has(posix.join(posix.dirname(page), target.replace(/#.*/, '')));
  };
  const html = Bun.markdown.html(readFileSync(join(FOLDER, page), 'utf8'), { headings: { ids: true } });
  const body = new HTMLRewriter()
    .on('a', {
      element: (link) => {
        if (!isHere(link.getAttribute('href'))) link.removeAndKeepContent();
      },
    })
    .on('picture, img', {
      element: (picture) => {
        if (!isHere(picture.getAttribute('src'))) picture.remove();
      },
    })
    .transform(html);
  return `<nav><a href="/">Atrium</a> · <a href="${OVERVIEW_PATH}">Documentation</a></nav>\n<main>${body}</main>`;
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

function cachedFor<Value>(ttlMs: number, render: () => Value): () => Value {
  let cached: Value | undefined;
  let expiresAtMs = 0;
  return () => {
    if (cached !== undefined && performance.now() < expiresAtMs) return cached;
    cached = render();
    expiresAtMs = performance.now() + ttlMs;
    return cached;
  };
}
