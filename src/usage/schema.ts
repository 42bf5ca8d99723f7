// The shapes of area E: stored events and their pages, what ingestion answers, summaries, dead letters.

import { type Static, Type } from '@sinclair/typebox';
import { parseDateTime } from '../core/date-time.ts';
import { pageOf } from '../http/paging.ts';
import { Parsed, type ParseOutcome } from '../http/parsed.ts';
import { HTTPValidationError } from '../http/schemas.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, SUMMARY_SIZE_DEFAULT, SUMMARY_SIZE_MAX } from './limits.ts';
import { GROUPINGS } from './store/summaries.ts';
import type { Bound } from './window.ts';

export const InWorkspace = Type.Object({ workspace_id: Type.String() });

const Authorization = Type.Optional(
  Type.String({ description: 'The API key, with or without `Bearer `; or the header of this name.' }),
);
/** For operations that take nothing but the key. */
export const KeyQuery = Type.Object({ authorization: Authorization });

/** A bound of a window; without a zone it is UTC. */
const bound = (description: string) =>
  Type.Optional(
    Parsed<Bound>(parseBound, { description: `${description}, \`YYYY-MM-DD HH:MM:SS.mmm\`; inclusive` }),
  );

/** Of the years that have four digits. */
const TIME_MIN_MS = -62_135_596_800_000;
const TIME_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function parseBound(input: string, loc: (string | number)[]): ParseOutcome<Bound> {
  // A blank before a zone is a plus that was not escaped.
  const ms = parseDateTime(input.trim().replace(/ (\d\d:?\d\d)$/, zoneOrTime))?.getTime();
  if (ms !== undefined && ms >= TIME_MIN_MS && ms <= TIME_MAX_MS) return { value: { text: input, ms } };
  const error = 'expected YYYY-MM-DD HH:MM:SS.mmm';
  const msg = `Input should be a valid datetime, ${error}`;
  return { mistake: { type: 'datetime_parsing', loc, msg, input, ctx: { error } } };
}

/** `2026-01-31 10:00` is a time; `2026-01-31 10:00:00 02:00` has a zone. */
const zoneOrTime = (match: string, zone: string, at: number, text: string): string =>
  text.slice(0, at).includes(':') ? `+${zone}` : match;

const Window = {
  from_date: bound('Start of the window'),
  to_date: bound('End of the window'),
};

export const MetricQuery = Type.Object({
  ...Window,
  authorization: Authorization,
  cursor: Type.Optional(Type.String({ description: 'A page that another answer named; blank: the first' })),
  size: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: PAGE_SIZE_MAX,
      description: `Metrics in a page; default ${PAGE_SIZE_DEFAULT}`,
    }),
  ),
  include_total: Type.Optional(Type.Boolean({ description: 'Whether to count the window' })),
});

export const SummaryQuery = Type.Object({
  ...Window,
  authorization: Authorization,
  type: Type.Optional(
    Type.String({ minLength: 1, description: 'Types that are this, or begin with it and a dot' }),
  ),
  group_by: Type.Union(
    GROUPINGS.map((grouping) => Type.Literal(grouping)),
    { default: 'type', description: 'What a row of the answer stands for' },
  ),
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: SUMMARY_SIZE_MAX,
      description: `Groups in a page; default ${SUMMARY_SIZE_DEFAULT}`,
    }),
  ),
  cursor: Type.Optional(Type.String({ description: '`next_page` of the page before; blank: the first' })),
});

const MetricEvent = Type.Object(
  {
    specversion: Type.String(),
    type: Type.String(),
    event_id: Type.String(),
    time: Type.String({ description: 'UTC, ISO 8601 without a zone' }),
    source: Type.String(),
    subject: Type.String(),
    data: Type.Record(Type.String(), Type.Unknown()),
    id: Type.String({ format: 'uuid' }),
    workspace_id: Type.String(),
    created_at: Type.String({ description: 'UTC, ISO 8601 without a zone' }),
    updated_at: Type.String({ description: 'UTC, ISO 8601 without a zone' }),
  },
  {
    $id: 'MetricEvent',
    additionalProperties: true,
    description: 'Extension attributes stand beside the rest.',
  },
);

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const MetricPage = Type.Object(
  {
    items: Type.Array(MetricEvent),
    total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Metrics in the window, where it was asked for',
    }),
    current_page: Type.String({ description: 'Cursor of this page' }),
    current_page_backwards: Type.String({ description: 'Cursor of this page, read backwards from its end' }),
    previous_page: nullableText('Cursor of the page before; null when there is none'),
    next_page: nullableText('Cursor of the next page; null when there is none'),
  },
  { $id: 'MetricPage' },
);

export const CloudEvent = Type.Object(
  {
    specversion: Type.Literal('1.0'),
    id: Type.String({ minLength: 1 }),
    source: Type.String({ minLength: 1 }),
    type: Type.String({ minLength: 1 }),
    subject: Type.Optional(Type.String()),
    time: Type.Optional(Type.String({ format: 'date-time' })),
    data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { $id: 'CloudEvent', additionalProperties: true },
);

export const Ingested = Type.Object(
  {
    accepted: Type.Integer({ minimum: 0 }),
    rejected: Type.Integer({ minimum: 0 }),
    results: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        id: nullableText("The event's own id"),
        status: Type.Union([Type.Literal('accepted'), Type.Literal('rejected')]),
        error: Type.Optional(Type.String()),
      }),
    ),
  },
  { $id: 'IngestedEvents' },
);

/** Events that are all wrong are told of as any mistake is, and each on its own besides. */
export const NothingIngested = Type.Object(
  { ...HTTPValidationError.properties, ...Type.Partial(Ingested).properties },
  { $id: 'NothingIngested' },
);

const Sums = {
  events: Type.Integer({ minimum: 0, description: 'How many' }),
  value: Type.Number({ description: 'Sum of `data.value`, where that is a number' }),
};

export const Summary = Type.Object(
  {
    group_by: Type.String(),
    items: Type.Array(Type.Object({ key: Type.String(), ...Sums })),
    total: Type.Object(Sums),
    next_page: nullableText('Cursor of the next page; null when there is none'),
  },
  { $id: 'MetricSummary' },
);

export const DeadLetterRead = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    reason: Type.String({ description: 'Why the database refused it' }),
    event: Type.Object({
      event_id: Type.String(),
      source: Type.String(),
      type: Type.String(),
      subject: Type.String(),
      time: Type.String(),
      data: Type.String({ description: 'Its JSON text, at most the first 4,096 characters' }),
    }),
  },
  { $id: 'DeadLetter' },
);
export type DeadLetterRead = Static<typeof DeadLetterRead>;
export const DeadLetterPage = pageOf(DeadLetterRead, 'DeadLetterPage');

export const DeadLetterSelection = Type.Object(
  { ids: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 1000 })) },
  { $id: 'DeadLetterSelection' },
);
export const DeadLetterCount = Type.Object(
  { count: Type.Integer({ minimum: 0 }) },
  { $id: 'DeadLetterCount' },
);
