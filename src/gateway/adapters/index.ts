// The protocols that upstreams speak, by the `kind` of the models file.

import type { Adapter } from './adapter.ts';
import { anthropic } from './anthropic/index.ts';
import { azure } from './azure.ts';
import { openai } from './openai.ts';

export const ADAPTERS = { openai, azure, anthropic } as const satisfies Record<string, Adapter>;
