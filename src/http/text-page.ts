// Pages that people read: no script runs on them, and they load nothing from elsewhere.

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** `body` is HTML. */
export const answerTextPage = (title: string, body: string, headers: Record<string, string> = {}): Response =>
  new Response(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/text.css">
</head>
<body>
${body}
</body>
</html>
`,
    { headers: { ...HEADERS, ...headers } },
  );

/** The overview of the documentation that the service has with it. */
export const OVERVIEW_PATH = '/docs/pages/README.md';

/** `/` for people: the ways on. */
export const renderRoot = (version: string): string => `<main>
<h1>Atrium</h1>
<p>The service answers. Version ${Bun.escapeHTML(version)}.</p>
<ul>
<li><a href="/admin">Portal</a>: sign in with a key; documents, models, conversations, keys, usage</li>
<li><a href="/docs">Interface</a>: every operation, to read and to call; <a href="/docs/json">the OpenAPI document</a></li>
<li><a href="${OVERVIEW_PATH}">Guides</a>: first steps in each area, settings, running it</li>
<li><a href="/readyz">Health</a>: the state of each part</li>
</ul>
<p>Programs get JSON at this address.</p>
</main>`;
