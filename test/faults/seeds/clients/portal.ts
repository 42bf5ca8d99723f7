// A person in the portal: signs in with a key, looks, signs out, is signed out by an administrator, and loses the key. A
// session that has ended opens nothing; each sign-in is one event and one row of the audit log.

import { bodyOf } from '../../../acceptance/support/caller.ts';
import type { AuditRow, Client, Desk, World } from '../client.ts';

const SESSION = '/admin/api/session';

type Key = { id: string; key: string; revoked: boolean | 'perhaps' };
/** `agent`: the browser's name, by which an administrator finds the session. */
type PortalSession = {
  agent: string;
  cookie: string;
  key: Key;
  ended: boolean | 'perhaps';
  /** The end was acknowledged, and the key was surely good until then, so that there was something to end. */
  told: boolean;
};
type Listed = { items: { id: string; user_agent: string }[] };

export async function createPortalClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, adminKey, violate } = desk;
  const root = `/admin/api/workspaces/${workspace}`;
  const email = `portal-${random.below(1e9)}@example.com`;
  const sessions: PortalSession[] = [];
  /** Sign-ins without an answer. */
  let [asked, lost] = [0, 0];
  let key: Key | undefined;

  const newKey = async (): Promise<void> => {
    const json = { name: 'portal', scopes: ['chat'], user_email: email };
    const answer = await desk.attempt([201], () => call('POST', `${root}/keys`, { key: adminKey, json }));
    if (answer !== undefined) key = { ...(JSON.parse(answer.text) as Key), revoked: false };
  };
  const use = ({ cookie }: PortalSession) => call('GET', SESSION, { headers: { cookie } });
  const isOver = ({ ended, key: opened }: PortalSession): boolean | 'perhaps' =>
    ended === true || opened.revoked === true ? true : ended || opened.revoked;
  const signIn = async (): Promise<void> => {
    if (key === undefined || key.revoked !== false) return newKey();
    const opened = key;
    const agent = `seed ${email} ${asked++}`;
    const request = { json: { key: opened.key }, headers: { 'user-agent': agent } };
    const answer = await desk.attempt([204], () => call('POST', SESSION, request));
    const cookie = answer?.headers.get('set-cookie')?.split(';')[0];
    if (cookie === undefined) lost += 1;
    else sessions.push({ agent, cookie, key: opened, ended: false, told: false });
  };
  const end = async (session: PortalSession, ask: () => ReturnType<typeof use>): Promise<void> => {
    const expected = session.ended === 'perhaps' ? [204, 404] : [204];
    const answer = await desk.attempt(expected, ask);
    session.ended = answer !== undefined || 'perhaps';
    session.told = answer !== undefined && session.key.revoked === false;
    // Other processes hear of it a moment later.
    if (answer !== undefined && desk.parts.processes === 1) await isRefused(session);
  };
  const isRefused = async (session: PortalSession): Promise<void> => {
    const answer = await desk.attempt([200, 401], () => use(session));
    if (answer?.status === 200) violate('an ended session of the portal opens nothing', session.agent);
  };
  const signOut = (session: PortalSession): Promise<void> =>
    end(session, () => call('DELETE', SESSION, { headers: { cookie: session.cookie } }));
  const signOutByAdministrator = async (session: PortalSession): Promise<void> => {
    const query = { limit: 100 };
    const listed = await desk.attempt([200], () => call('GET', `${root}/sessions`, { key: adminKey, query }));
    if (listed === undefined) return;
    const { items } = JSON.parse(listed.text) as Listed;
    const found = items.find(({ user_agent: agent }) => agent === session.agent);
    if (found === undefined) return;
    await end(session, () => call('DELETE', `${root}/sessions/${found.id}`, { key: adminKey }));
  };
  const revokeKey = async (): Promise<void> => {
    // It is still the last one where no other could be made since it was revoked.
    if (key === undefined || key.revoked === true) return;
    const revoked = key;
    const expected = revoked.revoked === 'perhaps' ? [204, 404] : [204];
    const answer = await desk.attempt(expected, () =>
      call('DELETE', `${root}/keys/${revoked.id}`, { key: adminKey }),
    );
    revoked.revoked = answer !== undefined || 'perhaps';
  };
  const step = async (): Promise<void> => {
    const session = random.pick(sessions.filter((each) => isOver(each) !== true));
    if (session === undefined || random.chance(0.3)) return signIn();
    const chance = random.below(100);
    if (chance < 5) return revokeKey();
    if (chance < 20) return signOut(session);
    if (chance < 30) return signOutByAdministrator(session);
    await desk.attempt(isOver(session) === false ? [200] : [200, 401], () => use(session));
  };
  await newKey();
  return {
    async work() {
      while (!desk.isOver()) {
        await step();
        await desk.pause();
      }
    },
    settle: async () => undefined,
    keep() {
      // Keys are shared by their sessions, and stay so.
      const copies = new Map(
        [...sessions.map((each) => each.key), key].map((each) => [each, each && { ...each }]),
      );
      const copyOf = (each: Key): Key => copies.get(each) ?? each;
      const kept = sessions.map((session) => ({ ...session, key: copyOf(session.key) }));
      const before = { asked, lost, key: key && copyOf(key) };
      return () => {
        sessions.splice(0, sessions.length, ...kept);
        ({ asked, lost, key } = before);
      };
    },
    async check(world) {
      const problems: string[] = [];
      for (const session of sessions) {
        const over = isOver(session);
        // Several times: one process may know what another does not.
        for (let attempt = 0; attempt < desk.parts.processes; attempt++) {
          const { status } = await use(session);
          const expected = { true: [401], false: [200], perhaps: [200, 401] }[`${over}`];
          if (over === true && status < 300)
            violate('an ended session of the portal opens nothing', `${session.agent}: ${status}`);
          // A busy machine may refuse one for its time, and is asked again.
          else if (!expected.includes(status))
            problems.push(`a session of the portal stays open until its end: ${session.agent}: ${status}`);
        }
      }
      return [...problems, ...checkRecords(world)];
    },
  };

  function checkRecords({ audit, events }: World): string[] {
    const own = audit.filter(({ actor }) => actor === email);
    const opened = own.filter(({ action }) => action === 'access.open-session').length;
    const keys = new Set(sessions.map(({ key: { id } }) => id));
    const closed = audit.filter(
      ({ action, object }) => action === 'access.close-session' && keys.has(object.id ?? ''),
    ).length;
    const told = sessions.filter((session) => session.told).length;
    const ended = sessions.filter((session) => session.ended !== false).length;
    const logins = events.filter(({ type, subject }) => type === 'auth.user.login' && subject === email);
    const problems = [];
    if (opened < sessions.length || opened > sessions.length + lost)
      problems.push(
        `each sign-in is one row of the audit log: ${opened} of ${sessions.length}, ${lost} lost`,
      );
    if (logins.length !== opened)
      problems.push(`each sign-in is one event: ${logins.length} events, ${opened} rows`);
    if (closed < told || closed > ended)
      problems.push(
        `each sign-out is one row of the audit log: ${closed} rows, ${told} to ${ended} sign-outs`,
      );
    return problems;
  }
}

/** Every row of the audit log of a workspace, newest first. */
export async function readAudit(
  call: Desk['call'],
  { workspace, adminKey }: Pick<Desk, 'workspace' | 'adminKey'>,
): Promise<AuditRow[]> {
  const rows: AuditRow[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string | number> = { limit: 100, ...(cursor === '' ? {} : { cursor }) };
    const page: { items: AuditRow[]; next_cursor: string | null } = bodyOf(
      await call('GET', `/admin/api/workspaces/${workspace}/audit`, { key: adminKey, query }),
      200,
    );
    rows.push(...page.items);
    cursor = page.next_cursor;
  }
  return rows;
}
