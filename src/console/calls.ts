// The operations of the interface for the portal, below a path of its own. There the cookie is the credential, so that it stays limited
// to the portal, and an operation of the interface accepts what the interface says and nothing else.

import { Elysia } from 'elysia';
import { notFound } from '../core/errors.ts';
import type { Http } from '../http/http.ts';
import { onBehalfOf, stateOf } from '../http/state.ts';
import { splitTarget } from '../http/url.ts';

const CALLS_PATH = '/admin/call';

/** The administration takes the cookie at its own paths; events of bots are of chat platforms. */
const NOT_CALLED = /^\/(?:admin|chatapp)(?:\/|$)/;

/** Calls the same application on behalf of the session's key: what it may do is what that key may do, in its own workspace. */
export const portalCalls = ({ plugin, handle }: Http) =>
  new Elysia({ name: 'console.calls', tags: ['console'] }).use(plugin).all(
    `${CALLS_PATH}/*`,
    async ({ principal, request, state }) => {
      const { path, search } = splitTarget(request.url);
      const target = path.slice(CALLS_PATH.length);
      if (NOT_CALLED.test(target)) throw notFound('Not Found');
      const call = new Request(`http://localhost${target}${search === '' ? '' : `?${search}`}`, request);
      const inner = stateOf(onBehalfOf(principal, call, { outer: state, takesPermit: true }));
      try {
        return await handle(call);
      } finally {
        inner.leave();
        state.called = inner.operation?.id;
        state.model = inner.model;
      }
    },
    { key: { in: 'portal' }, work: 'exempt', noIdleTimeout: true, detail: { hide: true } },
  );
