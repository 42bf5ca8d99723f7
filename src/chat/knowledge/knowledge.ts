// The port of knowledge: what an agent may rest an answer on, and cite.

import type { Citation } from '../turn.ts';

/** What was found: the text is for the model, the rest for the reader. */
export type Passage = Citation & { text: string };

export type Knowledge = {
  /** The best first, a few; only what the person may see. */
  find(question: { workspaceId: string; email: string; text: string }): Promise<Passage[]>;
};
