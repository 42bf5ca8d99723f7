import { readWeights } from '../http/accept.ts';
import { ASSETS_PATH, type Manifest } from './manifest.ts';

/** What a person has chosen, as the front end keeps it in cookies that scripts may read; the languages are those of the build. */
const THEMES = new Set(['light', 'dark']);

/** The name of the provider of single sign-on, and where the way there begins. */
export type SignOnLink = { name: string; url: string };

/**
 * The one HTML page of the portal. Theme and language stand in it from the beginning, so that nothing flickers: the theme of the
 * cookie `atrium_theme`, else the system's; the language of `atrium_language`, else the browser's.
 */
export function renderIndexPage(
  { script, style, languages, files }: Manifest,
  request: Request,
  signOn: SignOnLink | undefined,
): string {
  const known = new Set(Object.keys(languages));
  const theme = readChoice(request, 'atrium_theme', THEMES);
  const language = readChoice(request, 'atrium_language', known) ?? preferredLanguage(request, known);
  return `<!doctype html>
<html lang="${language}"${theme === undefined ? '' : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atrium</title>
<link rel="icon" href="data:,">${renderSignOn(signOn)}
<link rel="stylesheet" href="${ASSETS_PATH}${style}">
<link rel="modulepreload" href="${ASSETS_PATH}${languages[language]}">${renderFirstPage(files, request)}
<script type="module" src="${ASSETS_PATH}${script}"></script>
</head>
<body><div id="app"></div><noscript>The portal needs JavaScript.</noscript></body>
</html>
`;
}

/** The file of the first page is loaded beside the script. Without a session the first page is the sign-in. */
function renderFirstPage(files: readonly string[], request: Request): string {
  const isSignedIn = /(?:^|;\s*)(?:__Host-)?atrium_session=/.test(request.headers.get('cookie') ?? '');
  const page = isSignedIn ? new URL(request.url).pathname.split('/')[2] || 'home' : 'sign-in';
  const file = files.find((name) => name.endsWith('.js') && name.slice(0, name.lastIndexOf('-')) === page);
  return file === undefined ? '' : `\n<link rel="modulepreload" href="${ASSETS_PATH}${file}">`;
}

/** The front end reads the provider from it, and needs no call. */
const renderSignOn = (signOn: SignOnLink | undefined): string =>
  signOn === undefined
    ? ''
    : `\n<meta name="atrium-sign-on" content="${Bun.escapeHTML(signOn.name)}" data-url="${Bun.escapeHTML(signOn.url)}">`;

function readChoice(request: Request, name: string, allowed: ReadonlySet<string>): string | undefined {
  const value = new RegExp(`(?:^|;\\s*)${name}=(\\w+)`).exec(request.headers.get('cookie') ?? '')?.[1];
  return value !== undefined && allowed.has(value) ? value : undefined;
}

/** The known language with the highest weight, the first of equals; `de-CH` asks for `de`. */
function preferredLanguage(request: Request, known: ReadonlySet<string>): string {
  let preferred = { language: 'en', weight: 0 };
  for (const [range, weight] of readWeights(request.headers.get('accept-language'))) {
    const language = range.replace(/-.*/, '');
    if (known.has(language) && weight > preferred.weight) preferred = { language, weight };
  }
  return preferred.language;
}

/**
 * The headers of the page. It runs only its own scripts and styles; beside this service it connects to the object store alone,
 * for uploads and previews.
 */
export function pageHeaders(storeOrigin: string): Record<string, string> {
  const policy = [
    "default-src 'self'",
    `connect-src 'self' ${storeOrigin}`,
    `img-src 'self' data: ${storeOrigin}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}
