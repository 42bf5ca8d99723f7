// Ceilings of retrieval.

/** Characters of a question: many times what a person asks, and about what a conversation's last turns have. */
export const QUERY_LENGTH_MAX = 8192;

/** Passages that one request answers. */
export const PASSAGES_DEFAULT = 10;
export const PASSAGES_MAX = 100;

/** UTF-16 code units of a word; longer ones are cut. */
export const WORD_LENGTH_MAX = 64;

/** Different words of a question that are read, and those with a meaning that are looked for. */
export const QUERY_WORDS_MAX = 128;
export const TERMS_MAX = 64;

/** A word that occurs more often in a passage counts as if it occurred so often; the rank hardly grows beyond. */
export const OCCURRENCES_MAX = 16;

/** Documents that a caller may see, where they are so few that only their passages are looked at. */
export const FEW_DOCUMENTS = 500;

/** Passages that the caller sees in which the words of a question are counted. */
export const COUNTED_MAX = 1000;

/** Passages that one statement ranks, unless more are asked for. */
export const RANKED_MAX = 500;

/** Passages of each half of a hybrid ranking, at least. */
export const FUSED_MIN = 100;

/** Words whose combinations are looked for: the condition for the index grows with two to the power of them. */
export const COMBINED_MAX = 8;

/** Documents of one language of which it is looked whether the caller sees any; a language of more is one of the workspace. */
export const LANGUAGE_DOCUMENTS_MAX = 1000;

/** Stems that a process keeps at hand, and those that one statement asks for. */
export const STEMS_KEPT_MAX = 100_000;
export const STEMS_AT_ONCE = 2000;

/** Words of the passages whose stems are looked up for one explanation, in all languages together; others are compared as they are written. */
export const EXPLAINED_STEMS_MAX = 50_000;

/** Retrievals that are explained at once, one of each workspace. */
export const EXPLAINING = {
  runningMax: 2,
  waitingMax: 1000,
  waitMsMax: 60_000,
  refuse: 'Too many explanations are waiting',
};

/** Passages whose words are made in one go where they have none. */
export const CATCH_UP_PASSAGES = 250;

/** Levels of compound filters of OpenAI's search, the alternatives that they come to, and the values of a comparison. */
export const FILTER_DEPTH_MAX = 5;
export const ALTERNATIVES_MAX = 16;
export const VALUES_MAX = 500;

/** Results and queries of one search of OpenAI's shape. */
export const RESULTS_DEFAULT = 10;
export const RESULTS_MAX = 50;
export const QUERIES_MAX = 8;

/** Attributes that a result of OpenAI's shape has, and the length of a text among them. */
export const RESULT_ATTRIBUTES_MAX = 16;
export const RESULT_ATTRIBUTE_LENGTH_MAX = 512;
