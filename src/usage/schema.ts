// The shapes of area E: stored events and their pages, answers of ingestion, summaries, dead letters.

import { type Static, Type } from '@sinclair/typebox';
import { parseDateTime } from '../core/date-time.ts';
import { valueError } from '../core/errors.ts';
import { isTimeZone } from '../core/time-zone.ts';
import { pageOf } from '../http/paging.ts';
import { Parsed, type ParseOutcome } from '../http/parsed.ts';
import {
  component,
  described,
  flag,
  HTTPValidationError,
  moment,
  nullable,
  oneOf,
  openComponent,
  text,
} from '../http/schemas.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, SUMMARY_SIZE_DEFAULT, SUMMARY_SIZE_MAX } from './limits.ts';
import { GROUPINGS } from './store/summaries.ts';

export const InWorkspace = Type.Object({ workspace_id: text('The workspace whose events they are.') });

const Authorization = Type.Optional(
  text('The API key, with or without `Bearer `; or the header of this name.'),
);
/** Query of operations whose only parameter is the key. */
export const KeyQuery = Type.Object({ authorization: Authorization });

/** A bound as it was sent, and its milliseconds since 1970; without a zone as if it were UTC. */
export type Bound = { text: string; ms: number; hasZone: boolean };

/** Throws ValidationFailure for a window that ends before it begins. */
export function refuseReversed(from: Bound | undefined, to: Bound | undefined): void {
  if (from === undefined || to === undefined || from.ms <= to.ms) return;
  throw valueError(['query', 'to_date'], 'to_date is before from_date', to.text);
}

/** A bound of a window; without a zone it is UTC. */
const bound = (description: string) =>
  Type.Optional(
    Parsed<Bound>(parseBound, { description: `${description}, \`YYYY-MM-DD HH:MM:SS.mmm\`; inclusive.` }),
  );

function parseBound(input: string, loc: (string | number)[]): ParseOutcome<Bound> {
  // A blank before a zone is an unescaped plus.
  const text = input.trim().replace(/ (\d\d:?\d\d)$/, zoneOrTime);
  const ms = parseDateTime(text)?.getTime();
  // Behind the date a sign can only be that of a zone.
  if (ms !== undefined) return { value: { text: input, ms, hasZone: /[Zz+-]/.test(text.slice(10)) } };
  const error = 'expected YYYY-MM-DD HH:MM:SS.mmm';
  const msg = `Input should be a valid datetime, ${error}`;
  return { mistake: { type: 'datetime_parsing', loc, msg, input, ctx: { error } } };
}

/** `2026-01-31 10:00` is a time; `2026-01-31 10:00:00 02:00` has a zone. */
const zoneOrTime = (match: string, zone: string, at: number, text: string): string =>
  text.slice(0, at).includes(':') ? `+${zone}` : match;

const WINDOW_BOUNDS = { from_date: bound('Start of the window'), to_date: bound('End of the window') };

/** A misspelt parameter must not widen a window. */
const CLOSED = { additionalProperties: false } as const;

export const MetricQuery = Type.Object(
  {
    ...WINDOW_BOUNDS,
    authorization: Authorization,
    cursor: Type.Optional(text('A page that another answer named; blank: the first.')),
    size: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: PAGE_SIZE_MAX,
        description: `Metrics in a page; default ${PAGE_SIZE_DEFAULT}.`,
      }),
    ),
    include_total: Type.Optional(flag('Whether to count the window.')),
    newest: Type.Optional(
      flag('Without a cursor: begins with the last page, whose `previous_page` leads to older events.'),
    ),
  },
  CLOSED,
);

/** A zone by its IANA name. */
const Zone = Parsed<string>(
  (input, loc) => {
    if (isTimeZone(input)) return { value: input };
    const error = 'expected the IANA name of a time zone, such as Europe/Berlin';
    return {
      mistake: { type: 'value_error', loc, msg: `Value error, ${error}`, input, ctx: { error } },
    };
  },
  {
    description:
      'The time zone of hours, days, months, and of bounds without a zone, by its IANA name; default UTC.',
  },
);

export const SummaryQuery = Type.Object(
  {
    ...WINDOW_BOUNDS,
    authorization: Authorization,
    time: oneOf(['stored', 'event'], {
      default: 'stored',
      description:
        'The time that bounds, hours, days and months go by: `created_at`, or the `time` of the event.',
    }),
    timezone: Type.Optional(Zone),
    type: Type.Optional(
      Type.String({ minLength: 1, description: 'Types that are this, or begin with it and a dot.' }),
    ),
    group_by: oneOf(GROUPINGS, { default: 'type', description: 'What a row of the answer stands for.' }),
    size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SUMMARY_SIZE_MAX,
        description: `Groups in a page; default ${SUMMARY_SIZE_DEFAULT}.`,
      }),
    ),
    cursor: Type.Optional(text('`next_page` of the page before; blank: the first.')),
  },
  CLOSED,
);

export const MetricEvent = openComponent('MetricEvent', 'Extension attributes stand beside the rest.', {
  specversion: text('The version of CloudEvents.'),
  type: text('The dotted name of what happened.'),
  event_id: text('The identifier that the source has given the event.'),
  time: text('UTC, ISO 8601 without a zone.'),
  source: text('The application that has sent it.'),
  subject: text('The person who has caused it; empty where none is named.'),
  data: described(
    Type.Record(Type.String(), Type.Unknown()),
    'What belongs to the type; `value` is always there.',
  ),
  id: Type.String({ format: 'uuid', description: 'The identifier of the stored event.' }),
  workspace_id: text('The workspace of the event.'),
  created_at: text('UTC, ISO 8601 without a zone.'),
  updated_at: text('UTC, ISO 8601 without a zone.'),
});

const nullableText = (description: string) => nullable(Type.String(), description);

export const MetricPage = component('MetricPage', 'A page of usage events.', {
  items: described(Type.Array(MetricEvent), 'The events of this page, in order of storage.'),
  total: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Metrics in the window, where it was asked for.',
  }),
  current_page: text('Cursor of this page.'),
  current_page_backwards: text('Cursor of this page, read backwards from its end.'),
  previous_page: nullableText('Cursor of the page before; null when there is none.'),
  next_page: nullableText('Cursor of the next page; null when there is none.'),
});

export const CloudEvent = openComponent(
  'CloudEvent',
  'A usage event as a CloudEvent 1.0; extension attributes may stand beside the rest.',
  {
    specversion: described(Type.Literal('1.0'), 'The version of CloudEvents.'),
    id: Type.String({
      minLength: 1,
      description: 'The identifier; the same source and id again are the same event.',
    }),
    source: Type.String({ minLength: 1, description: 'The application that has sent it.' }),
    type: Type.String({ minLength: 1, description: 'The dotted name of what happened.' }),
    subject: Type.Optional(text('The person who has caused it.')),
    time: Type.Optional(moment('When it happened; absent: now.')),
    data: Type.Optional(described(Type.Record(Type.String(), Type.Unknown()), 'What belongs to the type.')),
  },
);

export const Ingested = component('IngestedEvents', 'What became of the events.', {
  accepted: Type.Integer({ minimum: 0, description: 'How many were accepted, and are durable.' }),
  rejected: Type.Integer({ minimum: 0, description: 'How many were refused.' }),
  results: described(
    Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        id: nullableText("The event's own id."),
        status: oneOf(['accepted', 'rejected']),
        error: Type.Optional(Type.String()),
        warning: Type.Optional(Type.String()),
      }),
    ),
    'What became of each, in the order in which they were sent. The `warning` of an accepted one says that no sum adds its ' +
      '`data.value`, which is no finite number.',
  ),
});

/** If all events are invalid, the answer has the usual 422 detail in addition to the result of each event. */
export const NothingIngested = component('NothingIngested', 'Events of which none is right.', {
  ...HTTPValidationError.properties,
  ...Type.Partial(Ingested).properties,
});

const Sums = {
  events: Type.Integer({ minimum: 0, description: 'How many.' }),
  value: Type.Number({
    description:
      'Sum of `data.value`. One that is no finite number (or a text of one) counts as 0, which ingestion warns of.',
  }),
};

export const Summary = component('MetricSummary', 'Sums of usage events.', {
  group_by: text('What a row stands for.'),
  items: described(Type.Array(Type.Object({ key: Type.String(), ...Sums })), 'The sums of each group.'),
  total: described(Type.Object(Sums), 'The sums of all groups.'),
  next_page: nullableText('Cursor of the next page; null when there is none.'),
});

export const DeadLetterRead = component(
  'DeadLetter',
  'An event that was accepted, and that the database refused.',
  {
    id: Type.String({ format: 'uuid', description: 'The identifier of the dead letter.' }),
    created_at: moment('When the database refused it.'),
    reason: text('Why the database refused it.'),
    event: Type.Object(
      {
        event_id: text('The identifier that the source has given the event.'),
        source: text('The application that has sent it.'),
        type: text('The dotted name of what happened.'),
        subject: text('The person who has caused it.'),
        time: text('When it happened.'),
        data: text('Its JSON text, at most the first 4,096 characters.'),
      },
      { description: 'The event itself.' },
    ),
  },
);
export type DeadLetterRead = Static<typeof DeadLetterRead>;
export const DeadLetterPage = pageOf(DeadLetterRead, 'DeadLetterPage');

export const DeadLetterSelection = component('DeadLetterSelection', 'Which dead letters are meant.', {
  ids: Type.Optional(
    Type.Array(Type.String({ format: 'uuid' }), {
      minItems: 1,
      maxItems: 1000,
      description: 'Which ones; absent: as the operation says.',
    }),
  ),
});
export const DeadLetterCount = component('DeadLetterCount', 'How many dead letters it were.', {
  count: Type.Integer({ minimum: 0, description: 'How many.' }),
});
