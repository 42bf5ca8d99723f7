// Whatever else a body holds, it goes to the model that it names, and with nothing changed but that name. Of two names the last counts.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shared } from '../../support/shared.ts';
import { expectStatus } from '../support/caller.ts';
import { CHAT, startGatewaySetting, upstreamName } from './setting.ts';

const setting = await shared(startGatewaySetting());

const MESSAGES = '"messages":[{"role":"user","content":"hello"}]';

/** The body as it came to the upstream of `right`. */
async function lastBody(): Promise<string> {
  const { last } = await setting.gateway.mock.state(upstreamName('right').split('=')[1] ?? '');
  return last.at(-1)?.body ?? '';
}

const behindRight = JSON.stringify(upstreamName('right'));

describe('the name of the model', () => {
  const others = {
    'in an object before it': `{"metadata":{"model":"wrong"},"model":"right",${MESSAGES}}`,
    'in an object behind it': `{"model":"right",${MESSAGES},"metadata":{"model":"wrong"}}`,
    'in an array': `{"x":[{"model":"wrong"}],"model":"right",${MESSAGES}}`,
    'in a text': `{"x":"\\"model\\":\\"wrong\\"","model":"right",${MESSAGES}}`,
    'in a text that ends with a backslash': `{"x":"\\\\","model":"right","y":"\\\\\\"model\\":\\"wrong\\"",${MESSAGES}}`,
    'in the name of another member': `{"\\"model":"wrong","model\\"":"wrong","model":"right",${MESSAGES}}`,
    'nearly, in the name of another member': `{"Model":"wrong","models":"wrong"," model":"wrong","model":"right",${MESSAGES}}`,
    'in the prototype': `{"__proto__":{"model":"wrong"},"model":"right",${MESSAGES}}`,
    'with blanks everywhere': ` \n{ "model"\t:\r\n "right" , ${MESSAGES} } \n`,
  };
  for (const [name, body] of Object.entries(others))
    test(`is the body's own, though there is another ${name}`, async () => {
      expectStatus(await setting.post(CHAT, body), 200);
      const renamed = body.replace(/("model"\s*:\s*)"right"/, `$1${behindRight}`);
      expect(await lastBody()).toBe(JSON.stringify(JSON.parse(renamed)));
      expect(await setting.asked('wrong')).toBe(0);
    });

  const escaped = {
    'the name': `{"\\u006dodel":"right",${MESSAGES}}`,
    'the value': `{"model":"\\u0072ight",${MESSAGES}}`,
    'all of both': `{"\\u006d\\u006f\\u0064\\u0065\\u006c":"\\u0072\\u0069\\u0067\\u0068\\u0074",${MESSAGES}}`,
  };
  for (const [name, body] of Object.entries(escaped))
    test(`is understood though ${name} is escaped`, async () => {
      expectStatus(await setting.post(CHAT, body), 200);
      expect((JSON.parse(await lastBody()) as { model: string }).model).toBe(upstreamName('right'));
    });

  const doubled = [
    `{"model":"wrong","model":"right",${MESSAGES}}`,
    `{"model":"right","model":"right",${MESSAGES}}`,
    `{"\\u006dodel":"wrong","model":"right",${MESSAGES}}`,
    `{"model":"wrong","\\u006dodel":"right",${MESSAGES}}`,
  ];
  for (const body of doubled)
    test(`that is there twice is the last one, and alone: ${body.slice(0, 40)}`, async () => {
      expectStatus(await setting.post(CHAT, body), 200);
      expect((await lastBody()).match(/"(?:m|\\u006d)odel":/g)).toHaveLength(1);
      expect((JSON.parse(await lastBody()) as { model: string }).model).toBe(upstreamName('right'));
      expect(await setting.asked('wrong')).toBe(0);
    });
});

type Member = { name: string; value: string };

/** The same text with some of its characters written as escapes. */
const spelled = (text: string) =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((escapes) => {
    const written = [...text].map((character, index) =>
      escapes[index] === true
        ? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
        : JSON.stringify(character).slice(1, -1),
    );
    return `"${written.join('')}"`;
  });

const name = fc
  .constantFrom('model', 'model', 'Model', 'models', 'a', '"model"', 'x\\', 'metadata')
  .chain(spelled);
const value = fc.oneof(
  fc.constantFrom('right', 'right', 'wrong', '"model":"wrong"', '\\').chain(spelled),
  fc.jsonValue({ maxDepth: 3 }).map((any) => JSON.stringify({ model: 'wrong', any })),
  fc.jsonValue({ maxDepth: 2 }).map((any) => JSON.stringify(any)),
  fc.constantFrom('1e400', '9007199254740993', '-0', '1.10'),
);
const blank = fc.constantFrom('', '', ' ', '\n\t');

test('any object goes to the model that it names, or nowhere', async () => {
  const member = fc.record<Member>({ name, value });
  const bodies = fc.tuple(fc.array(member, { maxLength: 5 }), blank, fc.nat(5));
  await fc.assert(
    fc.asyncProperty(bodies, async ([members, space, at]) => {
      const all = [...members];
      all.splice(at, 0, { name: '"messages"', value: '[{"role":"user","content":"hello"}]' });
      const text = `${space}{${all.map((each) => `${each.name}${space}:${space}${each.value}`).join(`${space},`)}}${space}`;
      const named = all
        .filter((each) => JSON.parse(each.name) === 'model')
        .map((each) => JSON.parse(each.value));
      const [before, beforeWrong] = [await setting.asked('right'), await setting.asked('wrong')];
      const { status } = await setting.post(CHAT, text);
      const called: unknown = named.at(-1);
      const goes = called === 'right' || called === 'wrong';
      // Without one it is the default's, which the catalogue may choose.
      if (named.length === 0) return;
      expect({ text, ok: status === 200 }).toEqual({ text, ok: goes });
      expect(status).toBeLessThan(500);
      expect(await setting.asked('right')).toBe(before + (goes && called === 'right' ? 1 : 0));
      expect(await setting.asked('wrong')).toBe(beforeWrong + (goes && called === 'wrong' ? 1 : 0));
      if (called !== 'right') return;
      const plain = (json: string): object => JSON.parse(json.replaceAll('-0', '0')) as object;
      // -0 is written as 0.
      expect(plain(await lastBody())).toEqual({ ...plain(text), model: upstreamName('right') });
    }),
    { numRuns: 300 },
  );
});
