import { Type } from '@sinclair/typebox';
import { integer, text } from '../../http/schemas.ts';
import { LINK_SECONDS_DEFAULT, LINK_SECONDS_MAX } from '../limits.ts';
import { tool } from '../tool.ts';
import { DocumentId } from './read-document.ts';

export const documentLink = tool({
  name: 'document_link',
  title: 'Link to a document',
  description:
    'Makes a URL by which anyone can download the file of a document until it expires, to show to the user. To read what the file says, ' +
    'use read_document.',
  scope: 'documents:read',
  readOnly: true,
  input: Type.Object({
    document_id: DocumentId,
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LINK_SECONDS_MAX,
        description: `Seconds until it expires, ${LINK_SECONDS_DEFAULT} by default, at most seven days.`,
      }),
    ),
  }),
  output: Type.Object({
    document_id: text('The document.'),
    url: text('Downloads the file.'),
    expires_in: integer('Seconds until it expires.'),
  }),
  async run(operations, caller, { document_id, expires_in = LINK_SECONDS_DEFAULT }) {
    const url = (await operations.download(caller, {
      path: { file_id: document_id },
      query: { expires_in },
    })) as string;
    return { structured: { document_id, url, expires_in }, text: url };
  },
});
