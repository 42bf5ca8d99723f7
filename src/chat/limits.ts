// Ceilings and times of conversations, together.

/** Questions that may wait in a session's queue, beside the question that is being answered. */
const WAITING_MAX = 8;
export const PENDING_MAX = WAITING_MAX + 1;
/** When one who found the line full may try again. */
export const RETRY_AFTER_SECONDS = 2;

/** UTF-8 bytes of one message: more than models read, and less than a request may have. */
export const MESSAGE_BYTES_MAX = 524_288;
/** Characters of an answer: more than models say. */
export const ANSWER_LENGTH_MAX = 4_194_304;
/** A page of messages ends with the message that takes the size of the texts beyond this. */
export const PAGE_BYTES_MAX = 4_194_304;
/** Characters of a channel's identifiers, and of titles. */
export const ID_LENGTH_MAX = 1024;
export const TITLE_LENGTH_MAX = 500;
export const FEEDBACK_LENGTH_MAX = 10_000;

export const AGENT_ID_LENGTH_MAX = 200;
export const AGENT_NAME_LENGTH_MAX = 200;
export const MODEL_LENGTH_MAX = 200;
export const INSTRUCTIONS_LENGTH_MAX = 100_000;
export const REPLIES_MAX = 1000;
export const REPLY_MATCH_LENGTH_MAX = 500;
/** The limits of chat apps. */
export const REPLY_LENGTH_MAX = 32_000;

/** The part of the conversation that a model receives. */
export const HISTORY_MESSAGES_DEFAULT = 20;
export const HISTORY_MESSAGES_MAX = 200;
export const HISTORY_TOKENS_DEFAULT = 8000;
export const HISTORY_TOKENS_MAX = 1_000_000;
/** Approximate UTF-8 bytes of a token, and the overhead of a message beside its text. */
export const BYTES_PER_TOKEN = 4;
export const TOKENS_PER_MESSAGE = 4;

/** The sizes of what a model is shown from documents: passages, records, and both together. */
export const PASSAGES_MAX = 6;
export const RECORDS_MAX = 5;
export const FOUND_MAX = 8;
/** Characters of a question that passages are searched by, half from its beginning, half from its end; and of those before it. */
export const QUERY_LENGTH_MAX = 1000;
export const CONTEXT_LENGTH_MAX = 500;
/** The questions before it that count. */
export const CONTEXT_QUESTIONS_MAX = 3;
/** Characters of a quote, and of the statement that it is chosen by; how many statements may name one passage, and how many places are read for them. */
export const QUOTE_LENGTH_MAX = 300;
export const CLAIM_LENGTH_MAX = 400;
export const CLAIMS_MAX = 4;
export const CLAIM_PLACES_MAX = 32;
/** Characters of a question, and of an answer without numbers, that are compared with the passages. */
export const ANSWER_COMPARED_MAX = 8192;
/** Sentences of an answer without numbers that are compared with each passage. */
export const SENTENCES_COMPARED_MAX = 128;
/** The answer of an agent that answers from documents alone, where none is found. */
export const NOT_FOUND_TEXT_DEFAULT = "I can't find this in the documents.";
export const NOT_FOUND_TEXT_LENGTH_MAX = 2000;
/** Characters of a question in which the words for records are sought, half at its beginning, half at its end; and of a word. */
export const QUESTION_LENGTH_MAX = 16_384;
export const WORD_LENGTH_MAX = 64;
export const QUESTION_WORDS_MAX = 8;
export const DOCUMENTS_PER_WORD_MAX = 20;

/** The time for an answer, whether or not a client waits; and the time that clients wait, including the queue. */
export const TURN_TIMEOUT_MS = 600_000;
export const WAIT_TIMEOUT_MS = 660_000;
/** For an answer that was made to be stored, while the database is away. */
export const STORE_TIMEOUT_MS = 60_000;
export const STORE_RETRY_MS = 250;

/** The interval at which a process extends its lease and checks for missed work; the length of the lease. */
export const TICK_MS = 1000;
export const ALIVE_MS = 8000;
/** A process that was silent for longer than this declares no other one dead for ALIVE_MS, because the database may have caused the silence. */
export const JUDGE_MS = 4000;
/** Longer than a statement takes: answers that belong to the process but are unknown to it have been lost. */
export const CLAIM_GRACE_MS = 15_000;
/** The attempts of an answer without a repeated request; how many of these a process makes at a time. */
export const ATTEMPTS_MAX = 3;
export const RECOVERED_MAX = 16;

/** Lost answers that a process reads at once. */
export const LOST_MAX = 1000;
/** The part of the shutdown time-out for answers without a waiting client. */
export const CLOSE_MS = 5000;

/** For the process of an answer that is stopped to store it. */
export const STOP_WAIT_MS = 5000;

/** Silence of a stream after which a comment keeps it open. */
export const PING_MS = 15_000;

/** The removal of old conversations: its interval, and the sessions that a step reads. */
export const RETENTION_INTERVAL_MS = 3_600_000;
export const EXPIRED_STEP_SESSIONS = 500;

export const CACHED_AGENTS_MAX = 10_000;
export const AGENT_TTL_MS = 30_000;

if (ALIVE_MS < 4 * TICK_MS) throw new Error('a process would count as dead between two signs of life');
if (ALIVE_MS < 2 * JUDGE_MS)
  throw new Error('an outage that went unnoticed would let processes count as dead');
if (WAIT_TIMEOUT_MS < TURN_TIMEOUT_MS) throw new Error('an answer would come when no client waits for it');
