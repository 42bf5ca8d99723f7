/** Answers of its own: deterministic, for wiring and load tests. */
export const LOCAL_CHAT_MODEL = 'local-echo';

/** Character n-gram hashing; `dimensions` numbers a text. */
export const LOCAL_EMBEDDING_MODEL = { id: 'local-multilingual-e1', dimensions: 384 } as const;
