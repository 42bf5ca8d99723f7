// The shapes of documents' contents.

import { type Static, Type } from '@sinclair/typebox';
import { PageQuery, pageOf } from '../../http/paging.ts';
import { component, described, flag, moment, nullable, oneOf, optional, text } from '../../http/schemas.ts';
import { DOCUMENT_EXAMPLE } from '../examples.ts';
import { ByFileId, InWorkspace } from '../schema.ts';
import { CONTENTS_MAX, GIVEN_TEXT_LENGTH_MAX } from './limits.ts';

export { ByFileId, InWorkspace };

const SWITCH = ['on', 'off'] as const;
const FORMATS = ['text', 'markdown'] as const;
const Count = Type.Integer({ minimum: 0 });

const STATUSES = ['pending', 'ready', 'empty', 'unsupported', 'failed'] as const;

const CONTENT = {
  status: oneOf(STATUSES, {
    description:
      '`pending`: it is still to be read; `empty`: there is no text in it, as in a scan; `unsupported`: files of its kind ' +
      'are not read, or reading is off; `failed`: it is broken, or could not be read in three attempts.',
  }),
  reason: nullable(Type.String(), 'Why there is no text, or not all of it.'),
  language: nullable(Type.String(), 'The language of the text (ISO 639), where it was recognised.'),
  pages: nullable(Count, 'Pages, slides or sheets, of formats that have them.'),
  characters: described(Count, 'Characters (code points) of the plain text.'),
  passages: described(Count, 'The pieces of the text that are found and cited.'),
  reading: oneOf(SWITCH, {
    description: '`off`: its file is not read; the reason says whether here, in its workspace, or this one.',
  }),
  given: flag('Whether a person gave the text, in place of the one in the file.'),
};
export const ContentRead = component('DocumentContent', 'What is known of the text of a document.', CONTENT);

export const ContentList = pageOf(
  component('DocumentContentRow', 'What is known of the text of one of several documents.', {
    document_id: Type.String({ format: 'uuid', description: 'The document.' }),
    name: text('Its name.'),
    ...CONTENT,
  }),
  'DocumentContentPage',
);

export const ContentListQuery = Type.Object({
  document_id: Type.Optional(
    Type.Array(Type.String({ format: 'uuid' }), {
      minItems: 1,
      maxItems: CONTENTS_MAX,
      description:
        'Of these documents, in the order of their identifiers. Those that the caller may not see are left out.',
    }),
  ),
  status: Type.Optional(
    oneOf(STATUSES, {
      description:
        'Of all documents outside the bin in this state, those that reached it last first; `failed` where nothing is given. Not ' +
        'together with `document_id`.',
    }),
  ),
  ...PageQuery.properties,
});

export const PassageList = pageOf(
  component('Passage', 'A piece of the text of a document, which is found and cited.', {
    passage: described(Count, 'Its place among those of the document, from 0.'),
    page: nullable(Count, 'The page, slide or sheet, from 1.'),
    heading: nullable(Type.String(), 'The headings above it, the outermost first.'),
    text: text('The text.'),
    start: described(Count, 'Where it begins in the plain text, in code points.'),
    end: described(Count, 'Where it ends there; the end is excluded.'),
  }),
  'PassagePage',
);

export const PassageQuery = Type.Object({
  limit: PageQuery.properties.limit,
  cursor: Type.Optional(
    Type.String({
      pattern: '^[0-9]{0,9}$',
      description:
        'The `next_cursor` of the page before, or the number of the passage to begin with; blank: first page.',
    }),
  ),
});

export const ContentSummary = component(
  'DocumentContentSummary',
  'How many documents of a workspace are in each state.',
  {
    documents: Type.Object(
      Object.fromEntries(STATUSES.map((status) => [status, Count])) as Record<
        (typeof STATUSES)[number],
        typeof Count
      >,
      { description: 'Documents by the state of their text, those in the bin included.' },
    ),
    passages: described(Count, 'Passages of all documents.'),
    without_vectors: described(Count, 'Documents that were read and whose passages have no vectors yet.'),
    waiting_since: nullable(moment('Since when the first document of the queue waits to be read.')),
  },
);

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
  reading: 'on',
  given: false,
};
export const CONTENT_ROW_EXAMPLE = {
  document_id: DOCUMENT_EXAMPLE.id,
  name: DOCUMENT_EXAMPLE.name,
  ...CONTENT_EXAMPLE,
};
export const PASSAGE_EXAMPLE = {
  passage: 3,
  page: 2,
  heading: 'Pumps › Maintenance',
  text: 'The pump must be switched off.',
  start: 1204,
  end: 1234,
};
export const CONTENT_SUMMARY_EXAMPLE = {
  documents: { pending: 3, ready: 480, empty: 12, unsupported: 4, failed: 1 },
  passages: 15_310,
  without_vectors: 2,
  waiting_since: '2026-11-23T09:30:00Z',
};
export const CONTENT_WRITE_EXAMPLE = {
  text: 'The pump must be switched off.',
  format: 'text',
  language: 'en',
};
export const CONTENT_SETTINGS_EXAMPLE = { reading: 'on' };
