// An administrator who adds people, makes keys and revokes them: a revoked key opens nothing, each person is one event, and each
// change is one row of the audit log.

import { bodyOf } from '../../../acceptance/support/caller.ts';
import type { AuditRow, Client, Desk } from '../client.ts';

type Key = { id: string; key: string; revoked: boolean | 'perhaps' };
type Page = { items: { email: string }[]; next_cursor: string | null };

export async function createKeysClient(desk: Desk): Promise<Client> {
  const { random, call, workspace, adminKey, violate } = desk;
  const root = `/admin/api/workspaces/${workspace}`;
  const domain = `d${random.below(1e9)}.example.com`;
  const keys: Key[] = [];
  const people = new Set<string>();
  let count = 0;

  const use = ({ key }: Key) => call('GET', '/v1/models', { headers: { authorization: `Bearer ${key}` } });
  const make = async (): Promise<void> => {
    const email = `k${count++}@${domain}`;
    const json = { name: 'load', scopes: ['models'], user_email: email };
    const answer = await desk.attempt([201], () => call('POST', `${root}/keys`, { key: adminKey, json }));
    if (answer === undefined) return;
    people.add(email);
    keys.push({ ...(JSON.parse(answer.text) as { id: string; key: string }), revoked: false });
  };
  const revoke = async (key: Key): Promise<void> => {
    const expected = key.revoked === 'perhaps' ? [204, 404] : [204];
    const answer = await desk.attempt(expected, () =>
      call('DELETE', `${root}/keys/${key.id}`, { key: adminKey }),
    );
    key.revoked = answer !== undefined || 'perhaps';
  };
  const add = async (): Promise<void> => {
    const email = `p${count++}@${domain}`;
    const answer = await desk.attempt([201], () =>
      call('POST', `${root}/users`, { key: adminKey, json: { email } }),
    );
    if (answer !== undefined) people.add(email);
  };
  const step = async (): Promise<void> => {
    const alive = random.pick(keys.filter(({ revoked }) => revoked !== true));
    if (alive === undefined || random.chance(0.3)) return random.chance(0.5) ? make() : add();
    if (random.chance(0.4)) return revoke(alive);
    await desk.attempt(alive.revoked === false ? [200] : [200, 401], () => use(alive));
  };
  const listed = async (): Promise<string[]> => {
    const emails: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: Record<string, string | number> = { limit: 100, ...(cursor === '' ? {} : { cursor }) };
      const page: Page = bodyOf(await call('GET', `${root}/users`, { key: adminKey, query }), 200);
      emails.push(...page.items.map(({ email }) => email));
      cursor = page.next_cursor;
    }
    return emails.filter((email) => email.endsWith(domain));
  };
  return {
    async work() {
      while (!desk.isOver()) {
        await step();
        await desk.pause();
      }
    },
    settle: async () => undefined,
    keep() {
      const [keptKeys, keptPeople] = [keys.map((key) => ({ ...key })), [...people]];
      return () => {
        keys.splice(0, keys.length, ...keptKeys);
        people.clear();
        for (const email of keptPeople) people.add(email);
      };
    },
    async check({ events, audit }) {
      const problems: string[] = [];
      for (const key of keys) {
        // Several times: one process may know what another does not.
        for (let attempt = 0; attempt < desk.parts.processes; attempt++) {
          const { status } = await use(key);
          const expected = { true: [401], false: [200], perhaps: [200, 401] }[`${key.revoked}`];
          if (key.revoked === true && status < 300)
            violate('a revoked key opens nothing', `${key.id}: ${status}`);
          // A busy machine may refuse one for its time, and is asked again.
          else if (!expected.includes(status))
            problems.push(`a key that was made is good, and a revoked one is not: ${status}`);
        }
      }
      const users = await listed();
      const missing = [...people].filter((email) => !users.includes(email));
      if (missing.length > 0) problems.push(`a person who was added is there: ${missing}`);
      const created = events.filter(
        ({ type, subject }) => type === 'auth.user.create' && subject.endsWith(domain),
      );
      const found = created.map(({ subject }) => subject).toSorted();
      if (!Bun.deepEquals(found, users.toSorted()))
        problems.push(`each person is one event: ${differences(found, users)}`);
      return [...problems, ...checkAudit(audit, users)];
    },
  };

  function checkAudit(audit: readonly AuditRow[], users: readonly string[]): string[] {
    const problems: string[] = [];
    const rowsOf = (action: string, id: string): number =>
      audit.filter((row) => row.action === action && row.object.id === id).length;
    const added = audit
      .filter(
        ({ action, after }) => action === 'access.create-user' && `${after?.['email']}`.endsWith(domain),
      )
      .map(({ after }) => `${after?.['email']}`);
    if (!Bun.deepEquals(added.toSorted(), users.toSorted()))
      problems.push(`each person who is added is one row of the audit log: ${differences(added, users)}`);
    for (const { id, revoked } of keys) {
      const counts = { made: rowsOf('access.create-key', id), revoked: rowsOf('access.revoke-key', id) };
      const isRight =
        counts.made === 1 &&
        (revoked === 'perhaps' ? counts.revoked <= 1 : counts.revoked === Number(revoked));
      if (!isRight)
        problems.push(
          `each change of a key is one row of the audit log: ${JSON.stringify(counts)}, revoked: ${revoked}`,
        );
    }
    return problems;
  }
}

const differences = (found: readonly string[], expected: readonly string[]): string => {
  const without = expected.filter((each) => !found.includes(each));
  const more = found.filter((each, index) => !expected.includes(each) || found.indexOf(each) !== index);
  return `${found.length} of ${expected.length}, without ${without}; more than once or unknown: ${more}`;
};
