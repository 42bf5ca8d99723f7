import type { AnyElysia } from 'elysia';
import type { Job } from '../core/lifecycle.ts';
import type { Http } from './http.ts';
import type { Metric } from './metrics.ts';
import type { ReadinessCheck } from './readiness.ts';

/** A part of the service, as the composition root puts it together with the others. It owns nothing that no job ends. */
export type Area = {
  /** Started in this order, after those of the areas that it needs, and ended in reverse. */
  jobs: readonly Job[];
  checks: readonly ReadinessCheck[];
  metrics: readonly Metric[];
};

/** The routes of an area, as a plugin. */
export type Routes = (http: Http) => AnyElysia;

export type AreaWithRoutes = Area & { routes: Routes };
