// The port of knowledge: passages that an agent may use and cite.

import type { Citation } from '../turn.ts';

/** A passage: the text is for the model, the rest for the reader. */
export type Passage = Citation & { text: string };

export type Knowledge = {
  /** A few passages, the best first; only from documents that the person may see. */
  find(question: { workspaceId: string; email: string; text: string }): Promise<Passage[]>;
};
