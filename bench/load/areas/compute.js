// Short computations on the worker threads, and the requests that must not wait for them.

import { get } from '../lib.js';

const RESULTS = { 18: '2584', 22: '17711', 26: '121393' };

export function compute() {
  for (const [n, result] of Object.entries(RESULTS))
    get(`compute: n = ${n}`, `/compute?n=${n}`, { holds: (answer) => answer.json('result') === result });
  get('compute: health', '/healthz');
}
