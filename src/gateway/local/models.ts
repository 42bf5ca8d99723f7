/** Answers of its own: deterministic, for wiring and load tests. */
export const LOCAL_CHAT_MODEL = 'local-echo';
