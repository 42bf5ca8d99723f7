const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * A page between the provider and the portal, which goes on to `to` by itself. It is no redirect: the browser counts one as a
 * part of the provider's navigation, and sends no `SameSite=Strict` cookie with it. `to` and `sentence` are our own text.
 */
export function renderReturnPage(
  { status, to, sentence }: { status: number; to: string; sentence: string },
  headers: Record<string, string> = {},
): Response {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0;url=${to}">
<title>Atrium</title>
</head>
<body><p>${sentence}</p><p><a href="${to}">Continue</a></p></body>
</html>
`;
  return new Response(page, { status, headers: { ...HEADERS, ...headers } });
}
