// Probes and metrics: no key, nothing secret.

import { Type } from '@sinclair/typebox';
import { within } from '../core/wait.ts';
import type { Metric, RequestMetrics } from './metrics.ts';
import { type Route, reply, route } from './operation.ts';
import { component, described, oneOf, text } from './schemas.ts';

/** The state of a backing service. `detail`: the effect of a state other than ready. */
export type ServiceState = {
  state: 'ready' | 'degraded' | 'down';
  detail?: string;
  [metric: string]: unknown;
};

/** Reads the state of a backing service; the time-out and errors of the check are handled here. */
export type ReadinessCheck = { name: string; essential: boolean; check(): Promise<ServiceState> };

const CHECK_TIMEOUT_MS = 2500;

const Liveness = component('Liveness', 'The process is alive.', {
  status: Type.Literal('ok', { description: 'The process answers.' }),
});
const Readiness = component('Readiness', 'How the service and what stands behind it do.', {
  status: described(
    oneOf(['ready', 'degraded', 'unavailable']),
    '`unavailable`: a service is down without which nothing works. `degraded`: something works less well.',
  ),
  services: described(
    Type.Record(
      Type.String(),
      Type.Object(
        { state: Type.String(), detail: Type.Optional(Type.String()) },
        { additionalProperties: true },
      ),
    ),
    'The backing services by their names; beside its state each may have metrics.',
  ),
});

const READINESS_EXAMPLE = {
  status: 'ready',
  services: { postgres: { state: 'ready' }, object_store: { state: 'ready' } },
};

const Root = component('Root', 'What answers here.', {
  name: text('The name of the service.'),
  version: text('Its version.'),
  status: text('`ok`, or `ending` while it ends.'),
  docs: text('The path of its description.'),
});

const PROBE = { area: 'health', method: 'GET', credential: 'none' } as const;

export type HealthDeps = {
  version: string;
  checks: readonly ReadinessCheck[];
  metrics: readonly Metric[];
  requestMetrics: RequestMetrics;
  /** True from the beginning of a shutdown. */
  ending(): boolean;
};

export function healthRoutes(deps: HealthDeps): Route[] {
  const readiness = async () => renderReadiness(await Promise.all(deps.checks.map(runCheck)), deps.ending());
  return [
    route(
      {
        ...PROBE,
        id: 'service.root',
        path: '/',
        summary: 'What this is, and where it is described',
        responses: {
          200: {
            description: 'The service.',
            schema: Root,
            example: { name: 'Atrium', version: deps.version, status: 'ok', docs: '/docs' },
          },
        },
      },
      () => ({
        name: 'Atrium',
        version: deps.version,
        status: deps.ending() ? 'ending' : 'ok',
        docs: '/docs',
      }),
    ),
    route(
      {
        ...PROBE,
        id: 'health.live',
        path: '/healthz',
        summary: 'Whether the process is alive',
        responses: { 200: { description: 'Alive.', schema: Liveness, example: { status: 'ok' } } },
      },
      () => ({ status: 'ok' }),
    ),
    route(
      {
        ...PROBE,
        id: 'health.ready',
        path: '/readyz',
        summary: 'Whether the interface can be served',
        responses: {
          200: { description: 'It can.', schema: Readiness, example: READINESS_EXAMPLE },
          503: { description: 'It cannot, as a whole.', schema: Readiness },
        },
      },
      async () => {
        const body = await readiness();
        return reply(body.status === 'unavailable' ? 503 : 200, body);
      },
    ),
    route(
      {
        ...PROBE,
        id: 'health.metrics',
        path: '/metrics',
        summary: 'Figures in the Prometheus text format',
        responses: { 200: { description: 'Figures.', mediaType: 'text/plain' } },
      },
      () =>
        new Response(deps.requestMetrics.render(deps.metrics), {
          headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        }),
    ),
    route(
      {
        ...PROBE,
        area: 'administration',
        credential: 'administration',
        scope: 'admin',
        id: 'admin.status',
        path: '/admin/api/status',
        summary: 'Each backing service with its state and metrics',
        responses: { 200: { description: 'States.', schema: Readiness, example: READINESS_EXAMPLE } },
      },
      readiness,
    ),
  ];
}

type Checked = { name: string; essential: boolean; state: ServiceState };

async function runCheck({ name, essential, check }: ReadinessCheck): Promise<Checked> {
  const late = (): ServiceState => ({ state: 'down', detail: 'no answer in time' });
  const state = await within(check(), CHECK_TIMEOUT_MS, late).catch(
    (): ServiceState => ({ state: 'down', detail: 'it cannot be reached' }),
  );
  return { name, essential, state };
}

function renderReadiness(checked: readonly Checked[], ending: boolean) {
  const unavailable = ending || checked.some(({ essential, state }) => essential && state.state === 'down');
  const degraded = checked.some(({ state }) => state.state !== 'ready');
  const services = Object.fromEntries(checked.map(({ name, state }) => [name, state]));
  return { status: unavailable ? 'unavailable' : degraded ? 'degraded' : 'ready', services };
}
