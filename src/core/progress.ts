export type Progress = ReturnType<typeof createProgress>;

/** Reports how far long work has come: every few seconds, and what an operator should know at once. */
export function createProgress(report: (sentence: string) => void, everyMs = 5000) {
  let reportedAt = performance.now();
  return {
    /** `render` is called only where the sentence is reported. */
    step(render: () => string): void {
      if (performance.now() - reportedAt < everyMs) return;
      reportedAt = performance.now();
      report(render());
    },
    note: report,
  };
}
