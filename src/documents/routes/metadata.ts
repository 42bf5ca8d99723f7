import { type Route, route } from '../../http/operation.ts';
import { METADATA_EXAMPLE } from '../examples.ts';
import type { createDetail } from '../operations/detail.ts';
import type { createPatch } from '../operations/patch.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import { documentAnswer, READ, type Render, WRITE } from './answers.ts';

export type MetadataRoutesDeps = {
  detail: ReturnType<typeof createDetail>;
  patch: ReturnType<typeof createPatch>;
  render: Render;
};

/** One document's metadata. */
export function metadataRoutes({ detail, patch, render }: MetadataRoutesDeps): Route[] {
  return [
    route(
      {
        ...READ,
        id: 'documents.detail',
        method: 'GET',
        path: '/v1/metadata/{workspace_id}/{document}/detail',
        summary: "Read a document's metadata, by id or name",
        parameters: schema.ByDocument,
        responses: { 200: documentAnswer('The document.') },
        refusals: [404],
      },
      async ({ principal, path }) => render(await detail(toViewer(principal), path.document)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.patch',
        method: 'PUT',
        path: '/v1/metadata/{workspace_id}/{document}',
        summary: "Change a document's metadata, by id or name",
        description:
          'Fields that the body does not name stay as they are; null clears those that can be null. Owner, curators and ' +
          'administrators may change a document, its `access` and `status` only owner and administrators, its `owner_id` ' +
          'only administrators.',
        parameters: schema.ByDocument,
        body: schema.DocumentMetadataPatch,
        bodyExample: METADATA_EXAMPLE,
        responses: { 200: documentAnswer('The changed document.') },
        refusals: [404, 409],
      },
      async ({ principal, path, body }) => render(await patch(toViewer(principal), path.document, body)),
    ),
  ];
}
