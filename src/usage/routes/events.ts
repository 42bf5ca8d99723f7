import { Type } from '@sinclair/typebox';
import { Elysia, status } from 'elysia';
import { malformed } from '../../core/errors.ts';
import { fromLocalTime } from '../../core/time-zone.ts';
import type { Http } from '../../http/http.ts';
import { answer, bytes, parameters, refusals } from '../../http/input.ts';
import { readCloudEvents } from '../cloud-events.ts';
import { EVENT_EXAMPLE, METRIC_EXAMPLE } from '../examples.ts';
import { REQUEST_BYTES_MAX, SUMMARY_SIZE_DEFAULT } from '../limits.ts';
import { type Ingestion, NothingAccepted } from '../operations/ingest.ts';
import type { EventPages } from '../operations/retrieve.ts';
import type { EventSums } from '../operations/summarise.ts';
import { jsonText, renderPage, renderSummary } from '../render.ts';
import {
  type Bound,
  CloudEvent,
  Ingested,
  InWorkspace,
  KeyQuery,
  MetricPage,
  MetricQuery,
  NothingIngested,
  refuseReversed,
  Summary,
  SummaryQuery,
} from '../schema.ts';

export type EventRoutesDeps = { ingestion: Ingestion; pages: EventPages; sums: EventSums };

const METRICS = { key: { in: 'metrics', scope: 'metrics' }, params: parameters(InWorkspace) } as const;
const ROOT = '/api/v1/workspace_metric/:workspace_id';

export function eventRoutes({ plugin }: Http, { ingestion, pages, sums }: EventRoutesDeps) {
  return new Elysia({ name: 'usage.events', tags: ['metrics'] })
    .use(plugin)
    .get(
      `${ROOT}/by_created_at`,
      async ({ params, query }) => {
        const { from_date: from, to_date: to, size } = query;
        refuseReversed(from, to);
        const cursor = query.cursor?.trim();
        const page = await pages.read(params.workspace_id, {
          from: from?.ms,
          to: to?.ms,
          includeTotal: query.include_total === true,
          fromEnd: query.newest === true,
          ...(cursor === undefined || cursor === '' ? {} : { cursor }),
          ...(size === undefined ? {} : { size }),
        });
        return jsonText(renderPage(params.workspace_id, page));
      },
      {
        ...METRICS,
        query: parameters(MetricQuery),
        response: {
          200: answer({
            description: 'A page.',
            schema: MetricPage,
            example: {
              items: [METRIC_EXAMPLE],
              total: null,
              current_page: 'AQA…',
              current_page_backwards: 'AQE…',
              previous_page: null,
              next_page: null,
            },
          }),
          ...refusals(400),
        },
        detail: {
          operationId: 'metrics.retrieve',
          summary: "A page of a workspace's metrics, in order of storage",
        },
      },
    )
    .post(
      `${ROOT}/events`,
      async ({ params, request, body }) => {
        try {
          const events = await readCloudEvents(request.headers, body);
          return status(202, await ingestion.take(params.workspace_id, events));
        } catch (error) {
          if (!(error instanceof NothingAccepted)) throw error;
          return Response.json({ detail: error.entries, ...error.ingested }, { status: 422 });
        }
      },
      {
        ...METRICS,
        key: { ...METRICS.key, stale: true },
        query: parameters(KeyQuery),
        body: bytes(
          {
            'application/cloudevents+json': { schema: CloudEvent, example: EVENT_EXAMPLE },
            'application/cloudevents-batch+json': {
              schema: Type.Array(CloudEvent),
              example: [EVENT_EXAMPLE],
            },
            // Binary mode: the attributes are headers, `ce-id` and so on.
            'application/json': {
              schema: Type.Record(Type.String(), Type.Unknown()),
              example: EVENT_EXAMPLE.data,
            },
          },
          { bytesMax: REQUEST_BYTES_MAX, inflates: true },
        ),
        response: {
          202: answer({
            description: 'Those that are accepted are durable.',
            schema: Ingested,
            example: {
              accepted: 1,
              rejected: 0,
              results: [{ index: 0, id: EVENT_EXAMPLE.id, status: 'accepted' }],
            },
          }),
          422: answer({ description: 'None of them is right.', schema: NothingIngested }),
        },
        detail: {
          operationId: 'metrics.ingest',
          summary: 'Take usage events, as CloudEvents 1.0 over HTTP',
          description:
            'Structured, batched or binary mode, also gzip. What is accepted is on disk when the answer comes; the same ' +
            'source and id again is accepted and stored once. At most 1 MB an event, 8 MB and 1,000 events a request.',
        },
      },
    )
    .get(
      `${ROOT}/summary`,
      async ({ params, query }) => {
        const { type, group_by: groupBy, size = SUMMARY_SIZE_DEFAULT, time, timezone = 'UTC' } = query;
        const [from, to] = [inZone(query.from_date, timezone), inZone(query.to_date, timezone)];
        refuseReversed(from, to);
        const typePrefix = type?.replace(/\.?\*?$/, '');
        const summary = await sums.read(params.workspace_id, {
          from: from?.ms,
          to: to?.ms,
          typePrefix: typePrefix === '' ? undefined : typePrefix,
          groupBy,
          time,
          timezone,
          size,
          after: readKey(query.cursor?.trim()),
        });
        return renderSummary(groupBy, summary);
      },
      {
        ...METRICS,
        work: 'heavy',
        query: parameters(SummaryQuery),
        response: {
          200: answer({
            description: 'Groups and their total.',
            schema: Summary,
            example: {
              group_by: 'type',
              items: [{ key: 'chat.create', events: 3, value: 3 }],
              total: { events: 3, value: 3 },
              next_page: null,
            },
          }),
          ...refusals(400),
        },
        detail: {
          operationId: 'metrics.summarise',
          summary: "Sums of a workspace's metrics",
          description:
            'Groups in order of their key. Whole hours by time of storage remain when their events have reached the end of their ' +
            'retention. With `time=event`, and by hours, days or months of a zone whose offset is no whole number of hours, sums ' +
            'are made of the events that are kept.',
        },
      },
    );
}

/** A bound without a zone is one of this zone. */
const inZone = (bound: Bound | undefined, zone: string): Bound | undefined =>
  bound === undefined || bound.hasZone ? bound : { ...bound, ms: fromLocalTime(zone, bound.ms) };

/** The key that a summary's cursor holds. */
function readKey(cursor: string | undefined): string | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const key = bytes.toString();
  if (Buffer.from(key).toString('base64url') !== cursor || key.includes('\0'))
    throw malformed('Invalid cursor value');
  return key;
}
