import { tracingFigures } from '../core/tracing.ts';
import { counter, gauge, type Metric } from './metrics.ts';

/** What becomes of spans; zeros without tracing. */
export const tracingMetrics: readonly Metric[] = [
  counter(
    'atrium_trace_spans_total',
    'Spans by what became of them: dropped ones found the queue full.',
    () =>
      (['exported', 'failed', 'dropped'] as const).map((outcome) => ({
        labels: { outcome },
        value: tracingFigures()[outcome],
      })),
  ),
  gauge('atrium_trace_spans_waiting', 'Spans that wait for the collector.', () => tracingFigures().waiting),
];
