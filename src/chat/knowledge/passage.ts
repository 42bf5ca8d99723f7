import type { Payer } from '../../core/embed-texts.ts';

/** A passage of a document's text, or the document's record: what a model is shown, and what its citation says. */
export type Passage = {
  document_id: string;
  name: string;
  /** Null where the text has no pages, and for a record. */
  page: number | null;
  heading: string | null;
  /** How well it fits the question, 0 to 1. */
  score: number;
  text: string;
};

/** A question, with the earlier questions of the same person in the conversation, the latest last. */
export type Inquiry = {
  workspaceId: string;
  email: string;
  question: string;
  earlier: readonly string[];
  /** Whose limits count for the search. */
  payer?: Payer | undefined;
};
