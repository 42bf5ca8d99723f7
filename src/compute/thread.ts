// The worker threads.

import { serveKernels } from '../infra/wasm/worker.ts';
import { embed, fibonacci } from './kernels.ts';

serveKernels({ fibonacci, embed });
