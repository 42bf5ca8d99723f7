// The parts of single sign-on that need no provider.

import { expect, test } from 'bun:test';
import { beginFlight, findFlight } from '../../src/access/sign-on/flight.ts';
import { grantsOf, parseRoles } from '../../src/access/sign-on/roles.ts';

const SECRET = 'a'.repeat(43);
const BEGUN = new Date('2026-01-31T10:00:00Z');
const after = (seconds: number): Date => new Date(BEGUN.getTime() + seconds * 1000);

test('a sign-in can be finished for ten minutes, with the secret of its browser, and with the state as it was', () => {
  const flight = beginFlight(SECRET, BEGUN, 'acme');
  expect(findFlight(SECRET, flight.state, after(600))).toEqual(flight);
  expect(findFlight(SECRET, flight.state, after(601))).toBeUndefined();
  expect(findFlight('b'.repeat(43), flight.state, after(1))).toBeUndefined();
  expect(findFlight(SECRET, flight.state.replace('acme', 'beta'), after(1))).toBeUndefined();
  expect(findFlight(SECRET, `1${flight.state}`, after(1))).toBeUndefined();
  expect(flight.workspace).toBe('acme');
});

test('no two sign-ins of a browser have a state, a nonce or a code verifier in common', () => {
  const flights = [beginFlight(SECRET, BEGUN), beginFlight(SECRET, BEGUN)];
  const values = flights.flatMap(({ state, nonce, verifier }) => [state, nonce, verifier]);
  expect(new Set(values).size).toBe(6);
});

const grants = (roles: object[], claims: object) =>
  grantsOf(parseRoles(JSON.stringify(roles)), claims as Record<string, unknown>).map(
    ({ workspace, scopes }) => `${workspace}: ${scopes}`,
  );

test('rows for one workspace add up, in the order of the table', () => {
  const roles = [
    { group: 'b', workspace: 'beta', scopes: ['chat'] },
    { group: 'a', workspace: 'acme', scopes: ['models', 'chat'] },
    { group: 'c', workspace: 'acme', scopes: ['admin', 'chat'] },
  ];
  expect(grants(roles, { groups: ['a', 'b', 'c'] })).toEqual(['beta: chat', 'acme: admin,chat,models']);
  expect(grants(roles, { groups: 'a' })).toEqual(['acme: chat,models']);
  expect(grants(roles, {})).toEqual([]);
});

test.each([
  ['department', 'Research', { department: 'Research' }, true],
  ['department', 'Research', { department: 'research' }, false],
  ['realm_access.roles', 'x', { realm_access: { roles: ['x'] } }, true],
  ['https://acme.example/roles', 'x', { 'https://acme.example/roles': ['x'] }, true],
  ['tenant', '7', { tenant: 7 }, true],
  ['email', '*', { email: 'ada@example.com' }, true],
  ['email', '*', {}, false],
  ['groups', '*', { groups: [] }, false],
  ['groups', 'x', { groups: [['x']] }, false],
  ['constructor.name', 'Object', {}, false],
  ['__proto__', '*', {}, false],
])('the claim %s with the value %s in %j: %p', (claim, value, claims, opens) => {
  expect(grants([{ claim, value, workspace: 'acme', scopes: ['chat'] }], claims).length > 0).toBe(opens);
});
