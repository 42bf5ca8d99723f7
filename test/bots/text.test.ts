// What is shown, what is remembered of an event, and which conversation it belongs to.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { toEventKey, toSessionKey } from '../../src/bots/event-keys.ts';
import type { ChatappEvent } from '../../src/bots/event-schema.ts';
import { cutText } from '../../src/bots/events.ts';

describe('a cut text', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.array(fc.constantFrom('a', 'é', '€', '😀', '\ud83d', '\udc00')).map((units) => units.join('')),
  );

  test('is the longest beginning that fits, and well-formed', () => {
    fc.assert(
      fc.property(text, fc.nat({ max: 80 }), (given, bytesMax) => {
        const whole = given.toWellFormed();
        const cut = cutText(given, bytesMax);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytesMax);
        expect(cut.isWellFormed()).toBe(true);
        expect(whole.startsWith(cut)).toBe(true);
        const [next] = whole.slice(cut.length);
        if (next !== undefined) expect(Buffer.byteLength(cut + next)).toBeGreaterThan(bytesMax);
      }),
      { numRuns: 2_000 },
    );
  });
});

const event = (
  fields: Partial<Record<keyof ChatappEvent | 'action' | 'appCommandMetadata', unknown>>,
): ChatappEvent =>
  ({
    type: 'MESSAGE',
    eventTime: '2026-01-31T10:00:00Z',
    user: { name: 'users/1' },
    space: { name: 'spaces/room' },
    ...fields,
  }) as ChatappEvent;

describe('the key of an event', () => {
  const named = { name: 'spaces/room/messages/1' };

  test('is the name of its message', () => {
    const one = event({ message: { ...named, text: 'a' } });
    const same = event({ message: { ...named, text: 'b' }, eventTime: 'later', user: {}, space: {} });
    expect(toEventKey(one)).toBe(named.name);
    expect(toEventKey(same)).toBe(named.name);
  });

  test('is the name of the message by which the bot was added, or a slash command given', () => {
    const added = event({ type: 'ADDED_TO_SPACE', message: named });
    expect(toEventKey(added)).toBe(named.name);
    const slash = { ...named, slashCommand: { commandId: '1' } };
    expect(toEventKey(event({ type: 'APP_COMMAND', message: slash }))).toBe(named.name);
    const appCommandMetadata = { appCommandId: 1, appCommandType: 'SLASH_COMMAND' };
    expect(toEventKey(event({ type: 'APP_COMMAND', message: named, appCommandMetadata }))).toBe(named.name);
  });

  test('tells commands about one message by their time and their number', () => {
    const command = (appCommandId: number, eventTime: string) =>
      event({
        type: 'APP_COMMAND',
        message: named,
        eventTime,
        appCommandMetadata: { appCommandId, appCommandType: 'MESSAGE_ACTION' },
      });
    const events = [command(1, 'a'), command(2, 'a'), command(1, 'b')];
    expect(new Set(events.map(toEventKey)).size).toBe(3);
    expect(toEventKey(command(1, 'a'))).toBe(toEventKey(command(1, 'a')));
  });

  test('is, without a message, its type, space, time and person', () => {
    const base = event({ type: 'ADDED_TO_SPACE' });
    const others = [
      event({ type: 'APP_COMMAND' }),
      event({ type: 'ADDED_TO_SPACE', space: { name: 'spaces/other' } }),
      event({ type: 'ADDED_TO_SPACE', eventTime: '2026-01-31T10:00:01Z' }),
      event({ type: 'ADDED_TO_SPACE', user: { name: 'users/2' } }),
      event({ type: 'APP_COMMAND', message: named }),
      event({ message: named }),
      event({ message: {} }),
    ];
    expect(toEventKey(event({ type: 'ADDED_TO_SPACE', common: { x: 1 } }))).toBe(toEventKey(base));
    expect(new Set([base, ...others].map(toEventKey)).size).toBe(others.length + 1);
  });

  test('tells clicks on one card by their time, function and values', () => {
    const clicked = (fields: object) => event({ type: 'CARD_CLICKED', message: named, ...fields });
    const events = [
      clicked({}),
      clicked({ eventTime: 'later' }),
      clicked({ action: { actionMethodName: 'a' } }),
      clicked({ action: { actionMethodName: 'b' } }),
      clicked({ action: { actionMethodName: 'b', parameters: [{ key: 'x', value: '1' }] } }),
      clicked({ user: { name: 'users/2' } }),
    ];
    expect(new Set(events.map(toEventKey)).size).toBe(events.length);
    expect(toEventKey(clicked({}))).toBe(toEventKey(clicked({})));
  });

  test('is short, however long the names are', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 200, maxLength: 2_000 }), (name) => {
        for (const type of ['MESSAGE', 'CARD_CLICKED', name]) {
          const long = event({ type, message: { name, thread: { name } }, space: { name } });
          expect(toEventKey(long).length).toBeLessThanOrEqual(255);
          for (const sender of [undefined, crypto.randomUUID()])
            expect(toSessionKey(long, sender).length).toBeLessThanOrEqual(255);
        }
      }),
    );
  });
});

describe('the conversation of an event', () => {
  const thread = { name: 'spaces/room/threads/1' };
  const CASES: [string, string, Parameters<typeof event>[0]][] = [
    ['the thread of a room', thread.name, { message: { thread } }],
    [
      'the thread of a group with replies',
      thread.name,
      {
        message: { thread },
        space: { name: 'x', spaceType: 'GROUP_CHAT', spaceThreadingState: 'GROUPED_MESSAGES' },
      },
    ],
    ['a room, of an event without a message', 'spaces/room', { type: 'ADDED_TO_SPACE' }],
    [
      'a direct message',
      'spaces/dm',
      { message: { thread }, space: { name: 'spaces/dm', singleUserBotDm: true } },
    ],
    [
      'a direct message by its older type',
      'spaces/dm',
      { message: { thread }, space: { name: 'spaces/dm', type: 'DM' } },
    ],
    [
      'a direct message by its type',
      'spaces/dm',
      { message: { thread }, space: { name: 'spaces/dm', spaceType: 'DIRECT_MESSAGE' } },
    ],
    [
      'a direct message, as its message says',
      'spaces/dm',
      { message: { thread, space: { name: 'spaces/dm', type: 'DM' } }, space: {} },
    ],
    [
      'a space without threads',
      'spaces/x',
      { message: { thread }, space: { name: 'spaces/x', spaceThreadingState: 'UNTHREADED_MESSAGES' } },
    ],
    ['a person, where nothing else is known', 'users/1', { space: {} }],
  ];
  test.each(CASES)('%s', (_title, key, fields) => {
    expect(toSessionKey(event(fields), undefined)).toBe(key);
  });
});
