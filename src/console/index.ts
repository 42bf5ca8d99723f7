// The administration portal: one HTML page, the files of its front end, and the operations that it calls with its cookie.

import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { notFound } from '../core/errors.ts';
import type { Http } from '../http/http.ts';
import { parameters } from '../http/input.ts';
import { createAssets } from './assets.ts';
import { portalCalls } from './calls.ts';
import { pageHeaders, renderIndexPage, type SignOnLink } from './index-page.ts';
import { isPage } from './pages.ts';

export type ConsoleDeps = {
  /** The object store's origin as browsers reach it. */
  storeOrigin: string;
  /** The provider at which people can sign in. */
  signOn?: SignOnLink | undefined;
};

export function createConsole(http: Http, { storeOrigin, signOn }: ConsoleDeps) {
  const assets = createAssets();
  const headers = pageHeaders(storeOrigin);
  const answer = (request: Request, status = 200): Response =>
    new Response(renderIndexPage(assets.manifest(), request, signOn), { status, headers });
  return new Elysia({ name: 'console', tags: ['console'] })
    .use(http.plugin)
    .use(portalCalls(http))
    .get('/admin', ({ request }) => answer(request), { detail: { hide: true } })
    .get(
      '/admin/:page',
      ({ params: { page }, request }) => {
        if (page === 'api') throw notFound('Not Found');
        return answer(request, isPage(page) ? 200 : 404);
      },
      { params: parameters(Type.Object({ page: Type.String() })), detail: { hide: true } },
    )
    .get('/admin/assets/:file', ({ params: { file }, request }) => assets.answer(file, request), {
      params: parameters(Type.Object({ file: Type.String() })),
      detail: { hide: true },
    });
}
