import type { Planted } from '../mistake.ts';

export const portal: readonly Planted[] = [
  {
    mistake: 'the calls of the portal take a key in the place of its cookie',
    file: 'src/console/calls.ts',
    text: "key: { in: 'portal' }",
    replacement: "key: { in: 'key' }",
    test: 'test/console/serving.test.ts',
    name: 'the cookie is good for the interface below /admin/call',
  },
  {
    mistake: 'a page of another port of the same host uses the session of the portal',
    file: 'src/http/provenance.ts',
    text: 'if (!isOwnSite(request)) return `Sec-Fetch-Site',
    replacement: 'if (!isOwnSite(request) && isOwnSite(request)) return `Sec-Fetch-Site',
    test: 'test/access/session.test.ts',
    name: 'page has caused is 403',
  },
  {
    mistake: 'a one-time link signs in as often as it is opened',
    file: 'src/access/store/sessions.ts',
    text: `          DELETE FROM portal_links
          WHERE hash = decode(\${session.linkHash}, 'hex') AND expires_at > \${session.createdAt}
          RETURNING key_id)`,
    replacement: `          SELECT key_id FROM portal_links
          WHERE hash = decode(\${session.linkHash}, 'hex') AND expires_at > \${session.createdAt})`,
    test: 'test/access/session.test.ts',
    name: 'a one-time link signs in once',
  },
  {
    mistake: 'a name that a person has chosen is a formula in a spreadsheet',
    file: 'src/console/web/csv.ts',
    text: '/^[=+\\-@\\t\\r]/.test(text)',
    replacement: 'text === ""',
    test: 'test/console/front-end.test.ts',
    name: 'no cell of it is a formula',
  },
];
