// Two instances behind the balancer of deploy/ are replaced one after the other under load: no request is lost.
// `bun run rolling-upgrade --from COMMIT` does it from any version of the history.

import { expect, test } from 'bun:test';
import { haproxy } from '../support/balancer.ts';
import { missingNats } from '../support/nats-server.ts';
import { missingStore } from '../support/object-stores.ts';
import { rollOver } from './upgrade/rolling.ts';
import { THIS_VERSION } from './upgrade/versions.ts';

const missing = [haproxy ? undefined : 'haproxy', missingNats(), missingStore('minio')].find(Boolean);

test.skipIf(missing !== undefined)(
  'instances that are replaced one after the other behind a balancer lose no request, and nothing that was acknowledged',
  async () => {
    const { phases, acknowledged, violations } = await rollOver({
      seed: 1,
      from: THIS_VERSION,
      steps: [
        { instance: 'one', version: THIS_VERSION },
        { instance: 'two', version: THIS_VERSION },
      ],
      restMs: 500,
      pauseMs: { from: 50, to: 250 },
    });
    expect([...violations]).toEqual([]);
    expect(phases.map(({ failed }) => failed)).toEqual([{}, {}, {}]);
    // Streams were running when each of them was told to end.
    expect(phases.slice(1).every(({ running }) => running > 0)).toBe(true);
    expect([...acknowledged.keys()].toSorted()).toEqual(
      [
        'bots',
        'chat',
        'documents',
        'events',
        'keys',
        'models',
        'portal',
        'reader',
        'streams',
        'visitor',
      ].toSorted(),
    );
  },
);
