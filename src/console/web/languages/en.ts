import { textsOf } from './column.ts' with { type: 'macro' };

export const TEXTS: readonly string[] = textsOf('en');
