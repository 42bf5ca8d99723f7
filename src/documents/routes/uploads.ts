import { Type } from '@sinclair/typebox';
import type { Clock } from '../../core/clock.ts';
import { newRandomId } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import type { Presigner } from '../../infra/s3/presign.ts';
import { DESCRIPTOR_EXAMPLE, DOWNLOAD_URL_EXAMPLE, METADATA_EXAMPLE } from '../examples.ts';
import { toTemporaryKey, UNTOLD_TYPE } from '../objects.ts';
import type { createConfirm } from '../operations/confirm.ts';
import type { createDownload } from '../operations/download.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import { documentAnswer, READ, type Render, WRITE } from './answers.ts';

export function uploadRoutes(deps: {
  presigner: Presigner;
  clock: Clock;
  uploadBytesMax: number;
  confirm: ReturnType<typeof createConfirm>;
  download: ReturnType<typeof createDownload>;
  render: Render;
}): Route[] {
  const { presigner, clock, uploadBytesMax, confirm, download, render } = deps;
  return [
    route(
      {
        ...WRITE,
        id: 'documents.presign',
        method: 'GET',
        path: '/v1/{workspace_id}/presigned/url',
        summary: 'Get a pre-signed upload descriptor',
        description:
          'Post the file as multipart form data to `url`, with every entry of `fields`, the file last. Until it expires ' +
          'the form may be used again, once the file before is confirmed: each makes a document of its own.',
        parameters: schema.InWorkspace,
        query: schema.PresignQuery,
        responses: {
          201: { description: 'Descriptor.', schema: schema.UploadDescriptor, example: DESCRIPTOR_EXAMPLE },
        },
      },
      // A form stores one file under a fresh temporary key; nothing is stored for the form itself.
      ({ path, query }) =>
        presigner.form({
          key: toTemporaryKey(path.workspace_id, newRandomId()),
          contentType: query.content_type ?? UNTOLD_TYPE,
          expiresInSeconds: query.expires_in,
          bytesMax: uploadBytesMax,
          now: clock.now(),
        }),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.confirm',
        method: 'POST',
        path: '/v1/{workspace_id}/upload/confirm',
        summary: 'Confirm an upload: save its metadata and move the file to its final key',
        description:
          'Repeating a confirm answers the same record, whatever the repetition says, until another file is posted with ' +
          'the form: the next confirm makes a document of that one.',
        parameters: schema.InWorkspace,
        body: schema.DocumentMetadataConfirm,
        bodyExample: {
          temp_key: DESCRIPTOR_EXAMPLE.fields.key,
          folder: 'manuals',
          document_metadata: METADATA_EXAMPLE,
        },
        responses: { 201: documentAnswer('The document.') },
        refusals: [404, 409],
      },
      async ({ principal, body }) => render(await confirm(principal, body)),
    ),
    route(
      {
        ...READ,
        id: 'documents.download',
        method: 'GET',
        path: '/v1/{workspace_id}/file/{file_id}/download/url',
        summary: 'Get a pre-signed download URL',
        parameters: schema.ByFileId,
        query: schema.DownloadQuery,
        responses: { 200: { description: 'The URL.', schema: Type.String(), example: DOWNLOAD_URL_EXAMPLE } },
        refusals: [404],
      },
      ({ principal, path, query }) =>
        download(toViewer(principal), path.file_id, {
          expiresInSeconds: query.expires_in,
          disposition: query.disposition,
        }),
    ),
  ];
}
