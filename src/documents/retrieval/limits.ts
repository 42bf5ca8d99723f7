// Ceilings of retrieval.

/** Characters of a question: many times what a person asks, and about what a conversation's last turns have. */
export const QUERY_LENGTH_MAX = 8192;

/** Passages that one request answers. */
export const PASSAGES_DEFAULT = 10;
export const PASSAGES_MAX = 100;

/** UTF-16 code units of a word; longer runs of letters are left out of the index and of questions. */
export const WORD_LENGTH_MAX = 64;

/** Different words of a question that are looked for: the rarest of the first ones. */
export const QUERY_WORDS_MAX = 128;
export const TERMS_MAX = 64;

/** A word that occurs more often in a passage counts as if it occurred so often; the rank hardly grows beyond. */
export const OCCURRENCES_MAX = 16;

/** Stems that are looked up for one explanation, of all languages of the workspace together; further words of the passages are compared as they are written. */
export const EXPLAINED_STEMS_MAX = 50_000;

/** About the words of passages that one explanation holds at once. */
export const EXPLAINED_AT_ONCE = 2000;

/** Explanations that are made at once, one of each workspace; the others wait, as the service has let them in. */
export const EXPLAINING = {
  runningMax: 2,
  waitingMax: 1000,
  waitMsMax: 60_000,
  refuse: 'Too many explanations are waiting',
};

/** Stems that one statement asks for: to unpack more would hold up the requests that have come meanwhile. */
export const STEMS_AT_ONCE = 2000;

/** Passages that one statement ranks, unless more are asked for. */
export const RANKED_MAX = 5000;

/** Passages that are ranked at first because of their common words, at most about, and where these do not suffice. */
export const COMMON_RANKED = 1000;
export const COMMON_RANKED_MAX = 2500;

/** The part of its words' weights that a passage hardly ever exceeds as its rank: that takes four occurrences of each word. */
export const LIKELY_SHARE = 0.85;

/** Common words whose combinations are looked for: the condition for the index grows with two to the power of them. */
export const COMBINED_MAX = 8;

/** Found passages of which the documents are asked whether the caller may see them; where these are too few, ten times more of theirs. */
export const ASKED_MIN = 100;

/** Documents that a caller may see, where they are so few that only their passages are looked at. */
export const FEW_DOCUMENTS = 1000;

/** How long it is known of a viewer that they see more than these, and of how many viewers. */
export const MANY_KEPT_MS = 60_000;
export const VIEWERS_KEPT_MAX = 10_000;

/** Passages that a caller sees of which one statement counts those with each word. */
export const WEIGHED_MAX = 20_000;

/** Documents of one language of which it is looked whether the caller sees any; a language of more is one of the workspace. */
export const LANGUAGE_DOCUMENTS_MAX = 1000;

/** Passages of a sample that are public, or belong to one owner, from which on these have shares of their own. */
export const SCOPE_SAMPLE_MIN = 200;

/** Passages of a workspace from which on the frequencies of common words come from a sample. */
export const COUNTED_MAX = 5000;
export const SAMPLE_PASSAGES = 20_000;

/** Passages of a sample that have a word which is common; rarer words are counted where they are looked for. */
export const COMMON_IN_SAMPLE_MIN = 8;

/** About the share of passages that have a word which the sample does not know. */
export const RARE_SHARE = COMMON_IN_SAMPLE_MIN / SAMPLE_PASSAGES / 4;

/** Common words, of all workspaces, that a process keeps at hand. */
export const COMMON_KEPT_MAX = 1_000_000;

/** How often samples are compared with what there is by now. */
export const STATISTICS_INTERVAL_MS = 60_000;

/** Stems that a process keeps at hand. */
export const STEMS_KEPT_MAX = 100_000;

/** Passages whose words are made in one go where they have none. */
export const CATCH_UP_PASSAGES = 250;

/** Levels of compound filters of OpenAI's search, and the alternatives that they come to. */
export const FILTER_DEPTH_MAX = 5;
export const ALTERNATIVES_MAX = 16;

/** Results and queries of one search of OpenAI's shape. */
export const RESULTS_DEFAULT = 10;
export const RESULTS_MAX = 50;
export const QUERIES_MAX = 8;

/** Attributes that a result of OpenAI's shape has, and the length of a text among them. */
export const RESULT_ATTRIBUTES_MAX = 16;
export const RESULT_ATTRIBUTE_LENGTH_MAX = 512;
