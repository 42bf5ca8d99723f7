// /docs: the page and the OpenAPI document that @elysiajs/swagger makes of the operations. The plugin's page
// loads Swagger UI from a CDN; here the same files come from the swagger-ui-dist package, so that it works
// without internet.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { swagger } from '@elysiajs/swagger';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { notFound } from '../core/errors.ts';
import { SECURITY_SCHEMES } from './credentials.ts';
import { type SchemaComponents, toOpenApiOperation } from './openapi.ts';
import { type Operation, type Route, route } from './operation.ts';
import { ErrorDetail } from './schemas.ts';

const ASSETS = new Map([
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['swagger-ui.css', 'text/css; charset=utf-8'],
]);
const CDN = /https:\/\/unpkg\.com\/swagger-ui-dist@[\w.]+\//g;
/** Browsers would otherwise ask for /favicon.ico. */
const NO_ICON = '<link rel="icon" href="data:,">';
/** The page runs the one inline script that the plugin writes, and talks to this service and the object store. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const DESCRIPTION =
  'Documents and the other capabilities that an organisation’s AI applications need, in one self-hosted service.';

export function docsRoutes(routes: readonly Route[], version: string): Route[] {
  const describe = once(() =>
    describeOperations(
      routes.map(({ operation }) => operation),
      version,
    ),
  );
  const files = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const open = { area: 'docs', method: 'GET', credential: 'none', query: Type.Object({}) } as const;
  return [
    route(
      {
        ...open,
        id: 'docs.page',
        path: '/docs',
        summary: 'Interactive description of the interface',
        parameters: Type.Object({}),
        responses: { 200: { description: 'The page', mediaType: 'text/html' } },
      },
      async () =>
        new Response((await describe()).page, {
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
        parameters: Type.Object({}),
        responses: { 200: { description: 'OpenAPI 3.1', schema: Type.Unknown() } },
      },
      async () =>
        new Response((await describe()).document, { headers: { 'content-type': 'application/json' } }),
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
      ({ path }) => {
        const mediaType = ASSETS.get(path.file);
        if (mediaType === undefined) throw notFound('Not Found');
        const headers = { 'content-type': mediaType, 'cache-control': 'public, max-age=3600' };
        return new Response(Bun.file(join(files, path.file)), { headers });
      },
    ),
  ];
}

/** Lets the plugin describe routes that carry nothing but their `detail`. */
async function describeOperations(operations: readonly Operation[], version: string) {
  const components: SchemaComponents = {};
  const described = new Elysia();
  for (const operation of operations) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
    described.route(operation.method, path, () => '', {
      detail: toOpenApiOperation(operation, components) as object,
    });
  }
  const areas = [...new Set(operations.map((operation) => operation.area))];
  described.use(
    swagger({
      provider: 'swagger-ui',
      path: '/docs',
      theme: '/docs/assets/swagger-ui.css',
      autoDarkMode: false,
      excludeStaticFile: false,
      swaggerOptions: { persistAuthorization: true, displayRequestDuration: true },
      documentation: {
        // 3.1, because the schemas are JSON Schema 2020-12.
        ...({ openapi: '3.1.0' } as object),
        info: { title: 'Atrium', version, description: DESCRIPTION },
        tags: areas.map((name) => ({ name })),
        components: { securitySchemes: SECURITY_SCHEMES, schemas: components as never },
      },
    }),
  );
  const read = async (path: string) =>
    (await described.handle(new Request(`http://localhost${path}`))).text();
  const page = (await read('/docs')).replaceAll(CDN, '/docs/assets/').replace('</head>', `${NO_ICON}</head>`);
  return { page, document: await read('/docs/json') };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
