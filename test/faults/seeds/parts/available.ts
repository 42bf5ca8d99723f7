// The parts that this machine has beside the embedded ones.

import { missingFaultyDisk } from '../../../support/faulty-disk.ts';
import { missingNats } from '../../../support/nats-server.ts';
import { missingStore } from '../../../support/object-stores.ts';
import { mountDisk } from '../../../support/small-disk.ts';
import type { Available } from '../planned.ts';
import { missingClock } from './clock.ts';

/** CI requires all but the disk, which only root may mount. */
export function findAvailable(): Available {
  const disk = mountDisk('1m');
  disk?.remove();
  return {
    nats: missingNats() === undefined,
    minio: missingStore('minio') === undefined,
    versitygw: missingStore('versitygw') === undefined,
    smallDisk: disk !== undefined,
    faultyDisk: missingFaultyDisk() === undefined,
    clock: missingClock() === undefined,
  };
}
