/** What somebody would ask, and the documents that answer it: more and less literally. */
export type Topic = { query: string; documents: readonly [string, string, string] };

/** The topics of one language; documents of the others are not relevant, in whichever language. */
export type Topics = readonly Topic[];
