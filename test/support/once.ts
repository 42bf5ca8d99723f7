/**
 * What several tests look at: made when the first of them asks for it. Unlike the time of `beforeAll`, its time is that of a test,
 * by which the run puts the longest files first.
 */
export function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}
