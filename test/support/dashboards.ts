// The dashboards of deploy/grafana, from their panels: `bun run docs:generate` writes them.

type Query = { expr: string; legend?: string };
type Panel = {
  title: string;
  unit?: 'reqps' | 's' | 'percentunit' | 'bytes' | 'short';
  queries: readonly Query[];
};
type Dashboard = { uid: string; title: string; panels: readonly Panel[] };

const HISTOGRAM = 'atrium_http_request_duration_seconds';
const JOB = 'job=~"$job"';

const rate = (metric: string, matchers = ''): string =>
  `rate(${metric}{${[JOB, matchers].filter((each) => each !== '').join(', ')}}[$__rate_interval])`;

/** Share of a metric's rate that has further matchers. */
const share = (metric: string, matchers: string, part: string, by = ''): string => {
  const sum = by === '' ? 'sum' : `sum by (${by})`;
  return `${sum}(${rate(metric, [matchers, part].filter((each) => each !== '').join(', '))}) / ${sum}(${rate(metric, matchers)})`;
};

/** The panels that every area has: requests, errors, times, and where it promises a bound, the share within it. */
function requestPanels(
  routes: string,
  promise?: { seconds: string; what: string; matchers: string },
): Panel[] {
  const matchers = `route=~"${routes}"`;
  const quantile = (value: number): Query => ({
    expr: `histogram_quantile(${value}, sum by (le) (${rate(`${HISTOGRAM}_bucket`, matchers)}))`,
    legend: `p${value * 100}`,
  });
  return [
    {
      title: 'Requests by status',
      unit: 'reqps',
      queries: [{ expr: `sum by (status) (${rate(`${HISTOGRAM}_count`, matchers)})`, legend: '{{status}}' }],
    },
    {
      title: 'Share of errors (5xx) by route',
      unit: 'percentunit',
      queries: [
        {
          expr: share(`${HISTOGRAM}_count`, matchers, 'status=~"5.."', 'method, route'),
          legend: '{{method}} {{route}}',
        },
      ],
    },
    { title: 'Time to answer', unit: 's', queries: [quantile(0.5), quantile(0.95), quantile(0.99)] },
    {
      title: 'p99 by route',
      unit: 's',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (le, method, route) (${rate(`${HISTOGRAM}_bucket`, matchers)}))`,
          legend: '{{method}} {{route}}',
        },
      ],
    },
    ...(promise === undefined
      ? []
      : [
          {
            title: promise.what,
            unit: 'percentunit' as const,
            queries: [
              {
                expr: `sum(${rate(`${HISTOGRAM}_bucket`, `${promise.matchers}, le="${promise.seconds}"`)}) / sum(${rate(`${HISTOGRAM}_count`, promise.matchers)})`,
                legend: `within ${promise.seconds} s`,
              },
            ],
          },
        ]),
  ];
}

const gauges = (
  title: string,
  metric: string,
  { by, unit }: { by?: string; unit?: Panel['unit'] } = {},
): Panel => ({
  title,
  unit: unit ?? 'short',
  queries: [
    by === undefined
      ? { expr: `sum(${metric}{${JOB}})`, legend: title }
      : {
          expr: `sum by (${by}) (${metric}{${JOB}})`,
          legend: by
            .split(', ')
            .map((each) => `{{${each}}}`)
            .join(' '),
        },
  ],
});
const rates = (title: string, metric: string, by: string): Panel => ({
  title,
  unit: 'short',
  queries: [
    {
      expr: `sum by (${by}) (${rate(metric)})`,
      legend: by
        .split(', ')
        .map((each) => `{{${each}}}`)
        .join(' '),
    },
  ],
});

const EVENTS = 'route="/api/v1/workspace_metric/{workspace_id}/events"';

export const DASHBOARDS: readonly Dashboard[] = [
  {
    uid: 'atrium-overview',
    title: 'Atrium: overview',
    panels: [
      {
        title: 'Backing services that are not ready',
        unit: 'short',
        queries: [
          {
            expr: `max by (service, state) (atrium_backing_service_state{${JOB}, state!="ready"}) > 0`,
            legend: '{{service}} {{state}}',
          },
        ],
      },
      ...requestPanels('.*'),
      gauges('Requests running', 'atrium_requests_running', { by: 'instance' }),
      rates('Requests refused for overload', 'atrium_admission_refused_total', 'work, reason'),
      gauges('Requests that wait for a place', 'atrium_admission_waiting', { by: 'work' }),
      gauges('Requests that have a place', 'atrium_admission_running', { by: 'work' }),
      {
        title: 'Mean wait for a place',
        unit: 's',
        queries: [
          {
            expr: `sum by (work) (${rate('atrium_admission_wait_seconds_total')}) / sum by (work) (${rate('atrium_admission_waits_total')})`,
            legend: '{{work}}',
          },
        ],
      },
      {
        title: 'Processors',
        unit: 'short',
        queries: [{ expr: rate('process_cpu_seconds_total'), legend: '{{instance}}' }],
      },
      gauges('Resident memory', 'process_resident_memory_bytes', { by: 'instance', unit: 'bytes' }),
      gauges('Bodies of running requests', 'atrium_request_bodies_bytes', { by: 'instance', unit: 'bytes' }),
      {
        title: 'Free space of the data folder',
        unit: 'percentunit',
        queries: [
          {
            expr: `atrium_data_folder_free_bytes{${JOB}} / atrium_data_folder_disk_bytes{${JOB}}`,
            legend: '{{instance}}',
          },
        ],
      },
      gauges('Busy connections to the database', 'atrium_database_connections_busy', { by: 'pool' }),
      gauges('Statements that wait for a connection', 'atrium_database_waiting', { by: 'pool' }),
      gauges('Jobs that wait', 'atrium_jobs_waiting', { by: 'kind' }),
      gauges('Age of the first job that is due', 'atrium_jobs_lag_seconds', { by: 'kind', unit: 's' }),
      gauges('Jobs given up', 'atrium_jobs_given_up', { by: 'kind' }),
      rates('Spans', 'atrium_trace_spans_total', 'outcome'),
      gauges('Spans that wait for the collector', 'atrium_trace_spans_waiting', { by: 'instance' }),
      {
        title: 'Time since the start',
        unit: 's',
        queries: [{ expr: `time() - process_start_time_seconds{${JOB}}`, legend: '{{instance}}' }],
      },
    ],
  },
  {
    uid: 'atrium-documents',
    title: 'Atrium: documents and search',
    panels: [
      ...requestPanels('/v1/([{]|metadata|filter|vector_stores).*', {
        seconds: '11',
        what: 'Answered within the time of the database',
        matchers: 'route=~"/v1/([{]|metadata|filter|vector_stores).*"',
      }),
      rates('Searches by vectors', 'atrium_vectors_searches_total', 'outcome'),
      gauges('Passages in memory', 'atrium_vectors_passages', { by: 'instance' }),
      gauges('Memory of vectors', 'atrium_vectors_memory_bytes', { by: 'instance', unit: 'bytes' }),
      gauges('Changes that Meilisearch lacks', 'atrium_search_outbox_documents', { by: 'instance' }),
      gauges('Age of the first of them', 'atrium_search_outbox_lag_seconds', { by: 'instance', unit: 's' }),
    ],
  },
  {
    uid: 'atrium-models',
    title: 'Atrium: model gateway',
    panels: [
      ...requestPanels(
        '(/v1)?/(chat/completions|completions|embeddings|images/generations|models).*|/[{]workspace_id[}]/v1/embeddings',
      ),
      rates('Attempts by target and outcome', 'atrium_model_attempts_total', 'target, outcome'),
      {
        title: 'Share of attempts that fail',
        unit: 'percentunit',
        queries: [
          {
            expr: share('atrium_model_attempts_total', '', 'outcome=~"failed|timed-out"', 'target'),
            legend: '{{target}}',
          },
        ],
      },
      {
        title: 'Time to the first token of a stream',
        unit: 's',
        queries: [0.5, 0.95, 0.99].map((value) => ({
          expr: `histogram_quantile(${value}, sum by (le) (${rate('atrium_model_time_to_first_token_seconds_bucket')}))`,
          legend: `p${value * 100}`,
        })),
      },
      {
        title: 'p95 of the time to the first token by target',
        unit: 's',
        queries: [
          {
            expr: `histogram_quantile(0.95, sum by (le, target) (${rate('atrium_model_time_to_first_token_seconds_bucket')}))`,
            legend: '{{target}}',
          },
        ],
      },
      rates('Tokens by model', 'atrium_model_tokens_total', 'model, type'),
      rates('Cost by model', 'atrium_model_cost_total', 'model'),
      gauges('Open circuits', 'atrium_model_circuit_open', { by: 'target' }),
      gauges('Calls at upstreams', 'atrium_model_requests_running', { by: 'upstream, state' }),
      rates('Answers from the cache', 'atrium_model_cache_requests_total', 'outcome'),
      gauges('Memory of the cache', 'atrium_model_cache_bytes', { by: 'instance', unit: 'bytes' }),
    ],
  },
  {
    uid: 'atrium-chat',
    title: 'Atrium: conversations and tools',
    panels: [
      ...requestPanels('/api/v1/chat/.*|/mcp', {
        seconds: '600',
        what: 'Messages with an answer or an error in time',
        matchers: 'route=~"/api/v1/chat/messages/send-message/.*"',
      }),
      rates('Answers by outcome', 'atrium_chat_answers_total', 'outcome'),
      gauges('Answers that are being made or wait', 'atrium_chat_answers_in_line', { by: 'instance' }),
      rates('Searches of knowledge', 'atrium_chat_retrievals_total', 'outcome'),
      rates('Searches that failed or were late', 'atrium_chat_retrieval_failures_total', 'reason'),
      {
        title: 'Answers taken over from processes that died',
        unit: 'short',
        queries: [{ expr: `sum(${rate('atrium_chat_answers_recovered_total')})`, legend: 'taken over' }],
      },
      rates('Calls of MCP tools', 'atrium_mcp_tool_calls_total', 'tool, outcome'),
      {
        title: 'Mean time of tools',
        unit: 's',
        queries: [
          {
            expr: `sum by (tool) (${rate('atrium_mcp_tool_seconds_total')}) / sum by (tool) (${rate('atrium_mcp_tool_calls_total')})`,
            legend: '{{tool}}',
          },
        ],
      },
    ],
  },
  {
    uid: 'atrium-bots-compute',
    title: 'Atrium: bots and compute',
    panels: [
      ...requestPanels('/chatapp/.*|/compute', {
        seconds: '22',
        what: 'Bots that have answered in time',
        matchers: 'route=~"/chatapp/.*"',
      }),
      gauges('Work that waits for a thread', 'atrium_compute_waiting', { by: 'lane' }),
      gauges('Work that runs', 'atrium_compute_running', { by: 'lane' }),
      rates('Work by kind and ending', 'atrium_compute_work_total', 'kind, ending'),
      gauges('Threads', 'atrium_compute_threads', { by: 'instance' }),
    ],
  },
  {
    uid: 'atrium-usage',
    title: 'Atrium: usage events',
    panels: [
      ...requestPanels('/api/v1/workspace_metric/.*', {
        seconds: '2',
        what: 'Ingestions accepted or refused in time',
        matchers: `${EVENTS}, method="POST"`,
      }),
      gauges('Packs that wait for the database', 'atrium_usage_buffer_packs', { by: 'instance' }),
      gauges('Size of the buffer', 'atrium_usage_buffer_bytes', { by: 'instance', unit: 'bytes' }),
      {
        title: 'Events stored, refused by the database, and batches that failed',
        unit: 'short',
        queries: [
          { expr: `sum(${rate('atrium_usage_stored_events_total')})`, legend: 'stored' },
          { expr: `sum(${rate('atrium_usage_dead_letters_total')})`, legend: 'dead letters' },
          { expr: `sum(${rate('atrium_usage_sink_failures_total')})`, legend: 'failed batches' },
        ],
      },
      gauges('Events in the outbox', 'atrium_usage_outbox_events', { by: 'instance' }),
      gauges('Age of the oldest of them', 'atrium_usage_outbox_lag_seconds', { by: 'instance', unit: 's' }),
    ],
  },
];

const DATA_SOURCE = { type: 'prometheus', uid: '$' + '{datasource}' };
const [COLUMNS, WIDTH, HEIGHT] = [2, 12, 8];

/** As Grafana imports it. */
export function renderDashboard({ uid, title, panels }: Dashboard): string {
  const model = {
    uid,
    title,
    tags: ['atrium'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        {
          name: 'job',
          label: 'Job',
          type: 'query',
          datasource: DATA_SOURCE,
          query: 'label_values(atrium_requests_running, job)',
          refresh: 2,
          multi: true,
          includeAll: true,
        },
      ],
    },
    panels: panels.map(({ title: name, unit = 'short', queries }, at) => ({
      id: at + 1,
      type: 'timeseries',
      title: name,
      datasource: DATA_SOURCE,
      gridPos: { x: (at % COLUMNS) * WIDTH, y: Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
      targets: queries.map(({ expr, legend }, index) => ({
        refId: String.fromCharCode(65 + index),
        datasource: DATA_SOURCE,
        expr,
        legendFormat: legend ?? '__auto',
      })),
    })),
  };
  return `${JSON.stringify(model, undefined, 2)}\n`;
}
