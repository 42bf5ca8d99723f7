// The administration portal: one HTML page, the files of its front end, and the operations that it calls with its cookie.

import { Type } from '@sinclair/typebox';
import { notFound } from '../core/errors.ts';
import { type Route, route } from '../http/operation.ts';
import { ErrorDetail } from '../http/schemas.ts';
import { createAssets } from './assets.ts';
import { portalCalls } from './calls.ts';
import { pageHeaders, renderIndexPage, type SignOnLink } from './index-page.ts';
import { isPage } from './pages.ts';

export type ConsoleDeps = {
  /** The operations of the service. */
  routes: readonly Route[];
  /** The object store's origin as browsers reach it. */
  storeOrigin: string;
  /** The provider at which people can sign in. */
  signOn?: SignOnLink | undefined;
};

export function consoleRoutes({ routes, storeOrigin, signOn }: ConsoleDeps): Route[] {
  const assets = createAssets();
  const headers = pageHeaders(storeOrigin);
  const open = { area: 'console', method: 'GET', credential: 'none' } as const;
  const page = { 200: { description: 'The page.', mediaType: 'text/html' } };
  const answer = (request: Request, status = 200): Response =>
    new Response(renderIndexPage(assets.manifest(), request, signOn), { status, headers });
  return [
    route(
      {
        ...open,
        id: 'console.home',
        path: '/admin',
        summary: 'The portal',
        responses: page,
        refusals: [503],
      },
      ({ request }) => answer(request),
    ),
    route(
      {
        ...open,
        id: 'console.page',
        path: '/admin/{page}',
        summary: 'A page of the portal',
        parameters: Type.Object({ page: Type.String() }),
        responses: {
          ...page,
          404: { description: 'No such page; the portal says so.', mediaType: 'text/html' },
        },
        refusals: [503],
      },
      ({ path, request }) => {
        if (path.page === 'api') throw notFound('Not Found');
        return answer(request, isPage(path.page) ? 200 : 404);
      },
    ),
    route(
      {
        ...open,
        id: 'console.asset',
        path: '/admin/assets/{file}',
        summary: 'A file of the portal',
        parameters: Type.Object({ file: Type.String() }),
        responses: {
          200: { description: 'The file.', mediaType: 'text/javascript' },
          404: { description: 'No such file.', schema: ErrorDetail },
        },
        refusals: [503],
      },
      ({ path, request }) => assets.answer(path.file, request),
    ),
    ...portalCalls(routes),
  ];
}
