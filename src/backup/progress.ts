import { PROGRESS_EVERY_MS } from './limits.ts';

export type Progress = ReturnType<typeof createProgress>;

/** Reports how far long work has come: every few seconds, and what an operator should know at once. */
export function createProgress(report: (sentence: string) => void) {
  let reportedAt = performance.now();
  return {
    /** `render` is called only where the sentence is reported. */
    step(render: () => string): void {
      if (performance.now() - reportedAt < PROGRESS_EVERY_MS) return;
      reportedAt = performance.now();
      report(render());
    },
    note: report,
  };
}
