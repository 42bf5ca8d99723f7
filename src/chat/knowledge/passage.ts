/** What a model is shown, and what a citation of it says: a passage of a document's text, or its record. */
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

/** A question with what the same person asked before it in the conversation, the latest last. */
export type Inquiry = { workspaceId: string; email: string; question: string; earlier: readonly string[] };
