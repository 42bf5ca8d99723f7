// The page of the documentation that a whole run writes.

import { memoryMiBMax, type Result, RULE } from './rule.ts';

const STRANGERS = 'without a credential';

const worst = (results: readonly Result[], of: (result: Result) => number): number =>
  Math.max(0, ...results.map(of));

const statusesOf = (results: readonly Result[]): string =>
  [...new Set(results.flatMap(({ statuses }) => statuses))]
    .sort((one, other) => one - other)
    .map((status) => (status === 0 ? 'closed' : `${status}`))
    .join(' ');

const share = (results: readonly Result[]): string =>
  `${Math.round(worst(results, (result) => (100 * result.memoryMiB) / memoryMiBMax(result)))} %`;

const metrics = (results: readonly Result[]): string[] => [
  `${results.length}`,
  worst(results, ({ stallMs }) => stallMs).toFixed(0),
  worst(results, ({ memoryMiB }) => memoryMiB).toFixed(0),
  share(results),
  statusesOf(results),
  results.some(({ breaches }) => breaches.length > 0) ? '**broken**' : 'kept',
];

function table(
  results: readonly Result[],
  head: readonly string[],
  keyOf: (result: Result) => string[],
): string {
  const groups = Map.groupBy(results, (result) => keyOf(result).join(' | '));
  const rows = [...groups].map(([key, members]) => `| ${[key, ...metrics(members)].join(' | ')} |`);
  const titles = [...head, 'cells', 'stall, ms', 'memory, MiB', 'of what it may', 'statuses', 'rule'];
  return [`| ${titles.join(' | ')} |`, `|${titles.map(() => '---').join('|')}|`, ...rows].join('\n');
}

const breachesIn = (results: readonly Result[]): string =>
  results
    .filter(({ breaches }) => breaches.length > 0)
    .map(
      ({ target, group, family, breaches }) => `\n- ${target}, ${group}, ${family}: ${breaches.join('; ')}`,
    )
    .join('');

const TEXTS_TITLE = '## Long texts';
const AFTER_TEXTS = '## By family';

/** The page with the tables of another run of the long texts. */
export function withTexts(page: string, texts: readonly Result[]): string {
  const end = page.indexOf(AFTER_TEXTS);
  const begin = page.includes(TEXTS_TITLE) ? page.indexOf(TEXTS_TITLE) : end;
  return `${page.slice(0, begin)}${renderTexts(texts)}${page.slice(end)}`;
}

const renderTexts = (texts: readonly Result[]): string => `${TEXTS_TITLE}

Questions of 8,192 characters and messages with answers of 40,000, in the script of the text, to a store with 400,000 characters of each
script; one request, and forty at once. The rule is the same, however many are
compared at once; the passages that a question is compared with count with its body.
${breachesIn(texts)}

${table(texts, ['what is asked', 'script and requests'], ({ target, family }) => [target, family])}

`;

/** The tables of one run, worst metrics only: of long texts, by family, and by route. */
export function renderPage(results: readonly Result[], texts: readonly Result[]): string {
  const broken = results.filter(({ breaches }) => breaches.length > 0);
  const routes = new Set(results.map(({ target }) => target));
  return `# What hostile input costs

Written by \`bun run bench hostile\`, which throws every family of hostile input at every route that takes input (it reads
the service's own table of routes), of a store that is filled with long texts in many scripts, as the lowest caller that the route lets in, and once more without a credential where
one is asked for.

**The rule.** No cell holds the event loop for more than ${RULE.stallMs} ms (${RULE.stallMsLargest} ms: a body of the largest size that the operation takes),
none takes more memory than ${RULE.bodies} × the body (unpacked, where it is compressed) and ${RULE.allowanceMiB} MiB, which a heap moves by itself, and none is
answered 5xx but 503 (and 501 by images, which need an upstream). A body that comes without the credential costs no more
than those ${RULE.allowanceMiB} MiB. Connections that are begun and held take at most ${RULE.held} × what was sent on them, and beside them an upload
goes through: form, file, confirm. What breaks the rule is tried three times, and the best counts.

**This run:** ${results.length} cells at ${routes.size} routes, of which ${broken.length} break the rule. The milliseconds are of the machine that it ran on;
\`closed\` is a connection that was closed without an answer.
${breachesIn(broken)}

${renderTexts(texts)}${AFTER_TEXTS}

${table(results, ['input', 'family'], ({ group, family }) =>
  group === STRANGERS ? [group, 'all of them'] : [group, family],
)}

## By route

${table(results, ['route', 'input'], ({ target, group }) => [`\`${target}\``, group === STRANGERS ? group : 'all'])}
`;
}
