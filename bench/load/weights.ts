// How often each area is used on a working day: shares of the iterations, each of which is a piece of work of one area.

import type { Weights } from '../lib/shapes.ts';

/** Of a hundred; an iteration of chat is a whole conversation, one of usage mostly a batch, one of the portal a page. */
export const WORKING_DAY = {
  documents: 22,
  search: 18,
  gateway: 22,
  chat: 8,
  bots: 5,
  usage: 12,
  compute: 2,
  knowledge: 7,
  portal: 4,
} as const satisfies Weights;

export type Area = keyof typeof WORKING_DAY;
export const AREAS = Object.keys(WORKING_DAY) as Area[];

export const weightsOf = (area: Area | 'all'): Weights =>
  area === 'all' ? WORKING_DAY : { [area]: WORKING_DAY[area] };
