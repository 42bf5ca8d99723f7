// The shapes of documents' contents.

import { type Static, Type } from '@sinclair/typebox';
import { component, described, nullable, oneOf, optional } from '../../http/schemas.ts';
import { ByFileId } from '../schema.ts';
import { GIVEN_TEXT_LENGTH_MAX } from './limits.ts';

export { ByFileId };

const SWITCH = ['on', 'off'] as const;
const FORMATS = ['text', 'markdown'] as const;
const Count = Type.Integer({ minimum: 0 });

export const ContentRead = component('DocumentContent', 'What is known of the text of a document.', {
  status: oneOf(['pending', 'ready', 'empty', 'unsupported', 'failed'], {
    description:
      '`pending`: it is still to be read; `empty`: there is no text in it, as in a scan; `unsupported`: files of its kind ' +
      'are not read, or reading is off; `failed`: it is broken, or could not be read in three attempts.',
  }),
  reason: nullable(Type.String(), 'Why there is no text, or not all of it.'),
  language: nullable(Type.String(), 'The language of the text (ISO 639), where it was recognised.'),
  pages: nullable(Count, 'Pages, slides or sheets, of formats that have them.'),
  characters: described(Count, 'Characters (code points) of the plain text.'),
  passages: described(Count, 'The pieces of the text that are found and cited.'),
});

export const ContentQuery = Type.Object({
  format: Type.Optional(
    oneOf(FORMATS, { description: 'The text itself instead of its state, as plain text or as Markdown.' }),
  ),
});

export const ContentWrite = component(
  'DocumentContentWrite',
  'A text for the document, or whether its file is read.',
  {
    text: optional(
      Type.String({
        minLength: 1,
        maxLength: GIVEN_TEXT_LENGTH_MAX,
        description: 'The text in place of the one in the file; form feeds divide pages.',
      }),
    ),
    format: Type.Optional(oneOf(FORMATS, { default: 'text', description: 'What the text is written in.' })),
    language: optional(
      Type.String({
        pattern: '^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$',
        description: 'The language of the text.',
      }),
    ),
    reading: optional(
      oneOf(SWITCH, {
        description:
          '`on`: the file is read, or read again; `off`: nothing of its text is kept. Not together with `text`.',
      }),
    ),
  },
);
export type ContentWrite = Static<typeof ContentWrite>;

export const ContentSettings = component('DocumentContentSettings', "Settings of a workspace's contents.", {
  reading: oneOf(SWITCH, { description: 'Whether files of the workspace are read.' }),
});

export const CONTENT_EXAMPLE = {
  status: 'ready',
  reason: null,
  language: 'en',
  pages: 20,
  characters: 41_283,
  passages: 38,
};
export const CONTENT_WRITE_EXAMPLE = {
  text: 'The pump must be switched off.',
  format: 'text',
  language: 'en',
};
export const CONTENT_SETTINGS_EXAMPLE = { reading: 'on' };
