import { Type } from '@sinclair/typebox';
import { Elysia, status } from 'elysia';
import { newRandomId } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import type { Presigner } from '../../infra/s3/presign.ts';
import { renderDocument } from '../document.ts';
import { DESCRIPTOR_EXAMPLE, DOWNLOAD_URL_EXAMPLE, METADATA_EXAMPLE } from '../examples.ts';
import { toTemporaryKey, UNTOLD_TYPE } from '../objects.ts';
import type { createConfirm } from '../operations/confirm.ts';
import type { createDownload } from '../operations/download.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import { documentAnswer, READ, WRITE } from './answers.ts';

export type UploadRoutesDeps = {
  presigner: Presigner;
  uploadBytesMax: number;
  confirm: ReturnType<typeof createConfirm>;
  download: ReturnType<typeof createDownload>;
  bucket: string;
};

export const uploadRoutes = (
  { plugin }: Http,
  { presigner, uploadBytesMax, confirm, download, bucket }: UploadRoutesDeps,
) =>
  new Elysia({ name: 'documents.uploads', prefix: '/v1/:workspace_id', tags: ['documents'] })
    .use(plugin)
    .get(
      '/presigned/url',
      // A form stores one file under a fresh temporary key; nothing is stored for the form itself.
      async ({ params, query }) => {
        const form = await presigner.form({
          key: toTemporaryKey(params.workspace_id, newRandomId()),
          contentType: query.content_type ?? UNTOLD_TYPE,
          expiresInSeconds: query.expires_in,
          bytesMax: uploadBytesMax,
        });
        return status(201, form);
      },
      {
        ...WRITE,
        params: parameters(schema.InWorkspace),
        query: parameters(schema.PresignQuery),
        response: {
          201: answer({
            description: 'Descriptor.',
            schema: schema.UploadDescriptor,
            example: DESCRIPTOR_EXAMPLE,
          }),
        },
        detail: {
          operationId: 'documents.presign',
          summary: 'Get a pre-signed upload descriptor',
          description:
            'Post the file as multipart form data to `url`, with every entry of `fields`, the file last. Until it expires ' +
            'the form may be used again, once the file before is confirmed: each makes a document of its own.',
        },
      },
    )
    .post(
      '/upload/confirm',
      async ({ principal, body }) => status(201, renderDocument(bucket, await confirm(principal, body))),
      {
        ...WRITE,
        params: parameters(schema.InWorkspace),
        body: json(schema.DocumentMetadataConfirm, {
          example: {
            temp_key: DESCRIPTOR_EXAMPLE.fields.key,
            folder: 'manuals',
            document_metadata: METADATA_EXAMPLE,
          },
        }),
        response: { 201: documentAnswer('The document.'), ...refusals(404, 409) },
        detail: {
          operationId: 'documents.confirm',
          summary: 'Confirm an upload: save its metadata and move the file to its final key',
          description:
            'Repeating a confirm answers the same record, whatever the repetition says, until another file is posted with ' +
            'the form: the next confirm makes a document of that one.',
        },
      },
    )
    .get(
      '/file/:file_id/download/url',
      ({ principal, params, query }) =>
        download(toViewer(principal), params.file_id, {
          expiresInSeconds: query.expires_in,
          disposition: query.disposition,
        }),
      {
        ...READ,
        params: parameters(schema.ByFileId),
        query: parameters(schema.DownloadQuery),
        response: {
          200: answer({ description: 'The URL.', schema: Type.String(), example: DOWNLOAD_URL_EXAMPLE }),
          ...refusals(404),
        },
        detail: { operationId: 'documents.download', summary: 'Get a pre-signed download URL' },
      },
    );
