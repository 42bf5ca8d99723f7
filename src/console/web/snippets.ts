// The same call as a person would write it elsewhere. The key is never in it: it is read from the environment.

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const;
export type SnippetLanguage = (typeof LANGUAGES)[number];

type Call = {
  /** Below `/v1`. */
  path: '/chat/completions' | '/embeddings';
  /** The call as the official SDKs name it. */
  method: 'chat.completions.create' | 'embeddings.create';
  body: Record<string, unknown>;
};

/** For a POSIX shell, which interprets nothing between single quotes. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const toPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /(?<=^\s*(?:"[^"\n]*": )?)\b(true|false|null)\b(?=,?$)/gm,
    (word) => (word === 'true' ? 'True' : word === 'false' ? 'False' : 'None'),
  );

export function renderSnippet(
  language: SnippetLanguage,
  { path, method, body }: Call,
  origin: string,
): string {
  const streams = body['stream'] === true;
  if (language === 'curl') {
    return [
      `curl ${origin}/v1${path} \\`,
      `  -H "Authorization: Bearer $ATRIUM_API_KEY" \\`,
      `  -H 'content-type: application/json' \\`,
      `  -d ${quote(JSON.stringify(body))}`,
    ].join('\n');
  }
  if (language === 'TypeScript') {
    return [
      `import OpenAI from 'openai';`,
      '',
      `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.ATRIUM_API_KEY });`,
      `const answer = await client.${method}(${JSON.stringify(body, null, 2)});`,
      ...(streams
        ? ["for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');"]
        : ['console.log(answer);']),
    ].join('\n');
  }
  return [
    'import os',
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${origin}/v1", api_key=os.environ["ATRIUM_API_KEY"])`,
    `answer = client.${method}(**${toPython(body)})`,
    ...(streams
      ? [
          'for chunk in answer:',
          '    if chunk.choices:',
          '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
        ]
      : ['print(answer)']),
  ].join('\n');
}
