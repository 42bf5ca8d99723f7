// Probes and metrics: no key, nothing secret.

import { type Static, Type } from '@sinclair/typebox';
import { Elysia, status } from 'elysia';
import { unavailable } from '../core/errors.ts';
import { type FamiliesOfProcess, joinFamilies, type MetricFamily } from '../core/metric-families.ts';
import type { Part, Siblings } from '../core/siblings.ts';
import { prefersHtml } from './accept.ts';
import type { Http } from './http.ts';
import { answer } from './input.ts';
import { type Metric, type RequestMetrics, renderFamilies } from './metrics.ts';
import { type Checked, joinChecks, type ReadinessCheck, runCheck } from './readiness.ts';
import { component, described, oneOf, text } from './schemas.ts';
import { answerTextPage, renderRoot } from './text-page.ts';

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
    'The backing services by their names; beside its state each may have figures. They tell of all processes of the machine.',
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

export type HealthDeps = {
  version: string;
  checks: readonly ReadinessCheck[];
  metrics: readonly Metric[];
  requestMetrics: RequestMetrics;
  /** True from the beginning of a shutdown. */
  ending(): boolean;
  /** Of one of several processes: each of them answers for all. */
  siblings: Siblings | undefined;
};

export function createHealth({ plugin }: Http, deps: HealthDeps) {
  const { siblings, requestMetrics } = deps;
  const check = (): Promise<Checked[]> => Promise.all(deps.checks.map(runCheck));
  const families = (): MetricFamily[] => requestMetrics.families(deps.metrics);
  siblings?.onAsked('readiness', check);
  siblings?.onAsked('metrics', families);
  const checkAll = async (): Promise<Checked[]> => {
    if (siblings === undefined) return check();
    const [own, parts] = await Promise.all([check(), siblings.gather('readiness')]);
    return joinChecks(deps.checks, { own, parts });
  };
  const readiness = async () => renderReadiness(await checkAll(), deps.ending());
  const allFamilies = async (): Promise<MetricFamily[]> => {
    if (siblings === undefined) return families();
    const parts = await siblings.gather('metrics');
    // The metrics of one process alone would look like a restart of all.
    if (parts === undefined) throw unavailable('The owner of the processes does not answer.');
    return joinFamilies(parts.filter(({ answer }) => answer !== undefined).map(toFamilies));
  };
  return new Elysia({ name: 'health', tags: ['health'] })
    .use(plugin)
    .get(
      '/',
      ({ request }) => {
        const headers = { vary: 'accept' };
        if (prefersHtml(request)) return answerTextPage('Atrium', renderRoot(deps.version), headers);
        const state = deps.ending() ? 'ending' : 'ok';
        const body = { name: 'Atrium', version: deps.version, status: state, docs: '/docs' };
        return Response.json(body, { headers });
      },
      {
        response: {
          200: answer({
            description: 'The service.',
            schema: Root,
            mediaType: 'text/html',
            example: { name: 'Atrium', version: deps.version, status: 'ok', docs: '/docs' },
          }),
        },
        detail: {
          operationId: 'service.root',
          summary: 'What this is, and where it is described; for browsers a page with the ways on',
        },
      },
    )
    .get('/healthz', () => ({ status: 'ok' as const }), {
      response: { 200: answer({ description: 'Alive.', schema: Liveness, example: { status: 'ok' } }) },
      detail: { operationId: 'health.live', summary: 'Whether the process is alive' },
    })
    .get(
      '/readyz',
      async () => {
        const body = await readiness();
        return status(body.status === 'unavailable' ? 503 : 200, body);
      },
      {
        response: {
          200: answer({ description: 'It can.', schema: Readiness, example: READINESS_EXAMPLE }),
          503: answer({ description: 'It cannot, as a whole.', schema: Readiness }),
        },
        detail: { operationId: 'health.ready', summary: 'Whether the interface can be served' },
      },
    )
    .get(
      '/metrics',
      async () =>
        new Response(renderFamilies(await allFamilies()), {
          headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        }),
      {
        response: { 200: answer({ description: 'Figures.', mediaType: 'text/plain' }) },
        detail: {
          operationId: 'health.metrics',
          summary: 'Figures of all processes of this service on the machine, in the Prometheus text format',
        },
      },
    )
    .get('/admin/api/status', readiness, {
      key: { in: 'administration', scope: 'admin' },
      work: 'exempt',
      response: { 200: answer({ description: 'States.', schema: Readiness, example: READINESS_EXAMPLE }) },
      detail: {
        tags: ['administration'],
        operationId: 'admin.status',
        summary: 'Each backing service with its state and metrics',
      },
    });
}

const toFamilies = ({ process, answer }: Part): FamiliesOfProcess => ({
  ...(process === undefined ? {} : { process }),
  families: answer as MetricFamily[],
});

function renderReadiness(checked: readonly Checked[], ending: boolean): Static<typeof Readiness> {
  const unavailable = ending || checked.some(({ essential, state }) => essential && state.state === 'down');
  const degraded = checked.some(({ state }) => state.state !== 'ready');
  const services = Object.fromEntries(checked.map(({ name, state }) => [name, state]));
  return { status: unavailable ? 'unavailable' : degraded ? 'degraded' : 'ready', services };
}
