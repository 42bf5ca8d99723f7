// A click on a card: its function and its values. Their place differs between the versions of the platform's events, so
// that each is optional here.

import { type ChatappEvent, fieldsOf } from './event-schema.ts';
import { CLICK_LENGTH_MAX } from './limits.ts';

export type Click = { name: string; values: readonly (readonly [name: string, value: string])[] };

/** The function's name (`''` where there is none), its parameters, and the inputs of the form. */
export function readClick(event: ChatappEvent): Click {
  const common = fieldsOf(event.common);
  const action = fieldsOf((event as { action?: unknown }).action);
  const given = listOf(action['parameters']).map((each): readonly [string, string] => {
    const { key, value } = fieldsOf(each);
    return [textOf(key), textOf(value)];
  });
  const parameters = Object.entries(fieldsOf(common['parameters'])).map(
    ([name, value]): readonly [string, string] => [name, textOf(value)],
  );
  const inputs = Object.entries(fieldsOf(common['formInputs'])).map(
    ([name, input]): readonly [string, string] => [name, inputOf(input)],
  );
  return {
    name: textOf(common['invokedFunction']) || textOf(action['actionMethodName']),
    values: [...(parameters.length > 0 ? parameters : given), ...inputs],
  };
}

export const renderClick = ({ name, values }: Click): string =>
  [name, ...values.map(([key, value]) => `${key}: ${value}`)]
    .filter((line) => line !== '')
    .join('\n')
    .slice(0, CLICK_LENGTH_MAX)
    .toWellFormed();

/** The strings of an input of a form; other inputs as JSON. */
function inputOf(input: unknown): string {
  const strings = fieldsOf(fieldsOf(input)['stringInputs'])['value'];
  return Array.isArray(strings) ? strings.map(textOf).join(', ') : textOf(input);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
