// A process with nothing in it but a store, for tests that kill it or weigh it: `bun store-process.ts <directory>`.
// Says where it listens, then answers every message with the peak of its resident memory since the last one.
import { startStore, storeOptions } from './fixture.ts';

const SAMPLE_MS = 5;

const store = await startStore(storeOptions(process.argv[2] ?? ''));
let peakBytes = process.memoryUsage.rss();
setInterval(() => {
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
}, SAMPLE_MS);
process.on('message', () => {
  process.send?.(peakBytes);
  peakBytes = process.memoryUsage.rss();
});
process.send?.(store.endpoint);
