// Questions with the documents that answer them: files `NAME.LANGUAGE.json` of a folder, in the format of SQuAD.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Question = { text: string; document: number; answers: string[] };
export type Collection = { language: string; documents: string[]; questions: Question[] };

type Squad = {
  data: {
    paragraphs: { context: string; qas: { question: string; answers?: { text: string }[] | null }[] }[];
  }[];
};

/** At most `questions` of each language, taken at equal distances. */
export function readCollections(
  folder: string,
  { languages, questions }: { languages: readonly string[] | undefined; questions: number },
): Collection[] {
  const files = readdirSync(folder).flatMap((file) => {
    const language = /\.([a-z]{2,3})\.json$/.exec(file)?.[1];
    return language === undefined ? [] : [{ file, language }];
  });
  const wanted = files.filter(({ language }) => languages?.includes(language) ?? true);
  if (wanted.length === 0) throw new Error(`${folder} has no files NAME.LANGUAGE.json of these languages`);
  return wanted.map(({ file, language }) => {
    const { data } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Squad;
    const paragraphs = data.flatMap((article) => article.paragraphs);
    const all = paragraphs.flatMap(({ qas }, document) =>
      qas.map(({ question, answers }) => ({
        text: question,
        document,
        answers: (answers ?? []).map(({ text }) => text),
      })),
    );
    const step = Math.max(1, all.length / questions);
    const taken = all.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
    return { language, documents: paragraphs.map(({ context }) => context), questions: taken };
  });
}
