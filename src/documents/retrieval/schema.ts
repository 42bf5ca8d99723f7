// The shapes of retrieval.

import { Type } from '@sinclair/typebox';
import { component, integer, nullable, oneOf, optional, text } from '../../http/schemas.ts';
import { FilterObject } from './filters.ts';
import { PASSAGES_DEFAULT, PASSAGES_MAX, QUERY_LENGTH_MAX } from './limits.ts';

export const RetrieveRequest = component('RetrieveRequest', 'A question to the documents.', {
  query: Type.String({
    minLength: 1,
    maxLength: QUERY_LENGTH_MAX,
    description: 'A question, or words, in any language.',
  }),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PASSAGES_MAX,
      default: PASSAGES_DEFAULT,
      description: 'How many passages to return.',
    }),
  ),
  mode: Type.Optional(
    oneOf(['hybrid', 'words', 'vectors'], {
      default: 'hybrid',
      description: 'How passages are found: by their words, by their vectors, or by both.',
    }),
  ),
  filter: optional(FilterObject),
  min_score: optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'Passages with a lower score are left out.' }),
  ),
  explain: Type.Optional(
    Type.Boolean({ default: false, description: 'Whether each passage says why it was found.' }),
  ),
});

const Explanation = Type.Object(
  {
    words: Type.Array(Type.String(), {
      description:
        'Words of the question that the passage, or a heading above it, has in any of their forms.',
    }),
    matches: Type.Array(
      Type.Object({
        start: integer('Where a word begins in the passage, in characters (code points).'),
        end: integer('Where it ends there, exclusive.'),
      }),
      {
        description:
          'Where these words stand in the passage. Words of Thai, Lao, Khmer and Burmese that touch are one place.',
      },
    ),
    words_score: nullable(
      Type.Number(),
      'How much of the question its words have, from 0 to 1; null where passages are found by vectors alone.',
    ),
    vectors_score: nullable(
      Type.Number(),
      'How near its vector is, as a cosine; null where vectors have not found it, or were not asked.',
    ),
  },
  { description: 'Why it was found, where the request asks for it.' },
);

const PassageRead = component('RetrievedPassage', 'A passage that was found.', {
  document_id: Type.String({ format: 'uuid', description: 'Unique identifier of the file.' }),
  name: text('The name of the document.'),
  page: nullable(Type.Integer(), 'Its page, slide or sheet, from 1, of formats that have them.'),
  heading: nullable(Type.String(), 'The path of headings above it.'),
  text: text('The passage.'),
  score: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'How much of the question it has, from 0 to 1. Scores of different modes are not to be compared.',
  }),
  start: integer('Where it begins in the plain text of the document, in characters (code points).'),
  end: integer('Where it ends there, exclusive.'),
  why: Type.Optional(Explanation),
});

export const RetrieveAnswer = component('RetrieveAnswer', 'The passages that were found.', {
  passages: Type.Array(PassageRead, { description: 'The best first.' }),
  engine: text('What found them.'),
});

export const RETRIEVE_REQUEST_EXAMPLE = {
  query: 'How often is the filter of the pump changed?',
  limit: 3,
  filter: { tags: 'manual', created_at: ['gte:2026-01-01'] },
};

export const RETRIEVE_EXAMPLE = {
  passages: [
    {
      document_id: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa',
      name: 'Pump manual.pdf',
      page: 12,
      heading: 'Maintenance > Filters',
      text: 'Change the filter of the pump every 500 hours.',
      score: 0.71,
      start: 21_480,
      end: 21_526,
    },
  ],
  engine: 'postgres words',
};
