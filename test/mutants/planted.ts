// Mistakes to plant one at a time, each with the test that has to notice it; the lists stand in planted/, by area.
// Where the code changes, its text there follows.

import type { Planted } from './mistake.ts';
import { access } from './planted/access.ts';
import { bots } from './planted/bots.ts';
import { chat } from './planted/chat.ts';
import { compute } from './planted/compute.ts';
import { portal } from './planted/console.ts';
import { core } from './planted/core.ts';
import { documents } from './planted/documents.ts';
import { gateway } from './planted/gateway.ts';
import { http } from './planted/http.ts';
import { infra } from './planted/infra.ts';
import { mcp } from './planted/mcp.ts';
import { objectStore } from './planted/object-store.ts';
import { processes } from './planted/processes.ts';
import { signOn } from './planted/sign-on.ts';
import { usage } from './planted/usage.ts';

export const planted: readonly Planted[] = [
  ...core,
  ...access,
  ...http,
  ...documents,
  ...gateway,
  ...chat,
  ...bots,
  ...mcp,
  ...compute,
  ...usage,
  ...objectStore,
  ...infra,
  ...processes,
  ...portal,
  ...signOn,
];
