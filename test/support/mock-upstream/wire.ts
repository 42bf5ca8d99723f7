// What an answer of the mock is before a fault has its way with it.

export type Body = { [key: string]: unknown };

export type Reply = {
  /** The answer as a whole. */
  whole: Body;
  /** The events of a stream, without the blank line behind each; the last one alone says that no more will come. */
  events: string[];
  /** One that tells of a failure in the middle. */
  errorEvent: string;
};

export type Wire = {
  /** What is wrong with a request, as the provider sees it; undefined when it can be answered. */
  refuse(body: Body, headers: Headers): { status: number; message: string; param: string | null } | undefined;
  reply(body: Body, context: { model: string; words: number | undefined; mb: number | undefined }): Reply;
  error(status: number, message: string, param?: string | null): Body;
};

export const isBody = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/** The words with their blanks, so that they give the text again. */
export const wordsOf = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];

/** What the answer says: a given number of words, or a given size, or what it was told. */
export function textOf(
  said: string,
  { words, mb }: { words: number | undefined; mb: number | undefined },
): string {
  if (mb !== undefined) return 'lorem ipsum '.repeat(Math.ceil((mb * 1024 * 1024) / 12));
  if (words === undefined) return `You said: ${said}`;
  return Array.from({ length: words }, (_, index) => `word${index}`).join(' ');
}

/** What a stream says at once: a word, or all of a text that is large. */
export const partsOf = (text: string, { mb }: { mb: number | undefined }): string[] =>
  mb === undefined ? wordsOf(text) : [text];

let made = 0;

/** Different in every answer. */
export const nextId = (prefix: string): string => `${prefix}-mock${++made}`;

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);
