import { type Route, route } from '../../http/operation.ts';
import { withErrors } from '../../http/schemas.ts';
import { METADATA_EXAMPLE } from '../examples.ts';
import type { createDetail } from '../operations/detail.ts';
import type { createPatch } from '../operations/patch.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import { type Answer, documentAnswer, READ, WRITE } from './answers.ts';

export type MetadataRoutesDeps = {
  detail: ReturnType<typeof createDetail>;
  patch: ReturnType<typeof createPatch>;
  answer: Answer;
};

/** One document's metadata. */
export function metadataRoutes({ detail, patch, answer }: MetadataRoutesDeps): Route[] {
  return [
    route(
      {
        ...READ,
        id: 'documents.detail',
        method: 'GET',
        path: '/v1/metadata/{workspace_id}/{document}/detail',
        summary: "Read a document's metadata, by id or name",
        parameters: schema.ByDocument,
        query: schema.NoQuery,
        responses: withErrors({ 200: documentAnswer('The document.') }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => answer(200, await detail(toViewer(principal), path.document)),
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
        query: schema.NoQuery,
        body: schema.DocumentMetadataPatch,
        bodyExample: METADATA_EXAMPLE,
        responses: withErrors(
          { 200: documentAnswer('The changed document.') },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) => answer(200, await patch(toViewer(principal), path.document, body)),
    ),
  ];
}
