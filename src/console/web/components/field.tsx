import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';

type FieldProps = {
  label: string;
  hint?: ComponentChildren;
  /** Why the value was refused. */
  mistake?: string | undefined;
};

type Value = { value: string; onValue(value: string): void };

type TextProps = FieldProps &
  Value & {
    type?: 'text' | 'email' | 'number' | 'password' | 'date' | 'datetime-local' | 'search';
    rows?: number;
    mono?: boolean;
    placeholder?: string;
    required?: boolean;
    autofocus?: boolean;
    autocomplete?: string;
    list?: string;
    step?: string;
    /** Of a field of several lines: Enter sends its form, and Shift+Enter begins a new line. */
    enterSends?: boolean;
    min?: string | number;
    max?: string | number;
  };

/** A field of one line of text, or of `rows` lines, with its label, hint and mistake. */
export function TextField({
  label,
  hint,
  mistake,
  value,
  onValue,
  rows,
  mono,
  enterSends = false,
  type = 'text',
  ...rest
}: TextProps) {
  const id = useId();
  const shared = {
    id,
    value,
    class: mono === true ? 'mono' : '',
    ...(hint === undefined && mistake === undefined ? {} : { 'aria-describedby': `${id}-note` }),
    'aria-invalid': mistake !== undefined,
    onInput: (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value),
    ...rest,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input {...({ type, ...shared } as JSX.IntrinsicElements['input'])} />
      ) : (
        <textarea
          {...({ rows, ...shared } as JSX.IntrinsicElements['textarea'])}
          {...(enterSends ? { onKeyDown: sendOnEnter } : {})}
        />
      )}
      <Note id={id} hint={hint} mistake={mistake} />
    </div>
  );
}

/** The Enter that ends the composition of a character, as of Japanese, is not meant for the form. */
function sendOnEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.altKey || event.isComposing) return;
  event.preventDefault();
  if (!event.repeat) event.currentTarget.form?.requestSubmit();
}

export type Choice = { value: string; label: string };

export function SelectField({
  label,
  hint,
  mistake,
  value,
  onValue,
  choices,
}: FieldProps & Value & { choices: readonly Choice[] }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Select id={id} value={value} onValue={onValue} choices={choices} />
      <Note id={id} hint={hint} mistake={mistake} />
    </div>
  );
}

/** A choice without a visible label; `label` is read to those who do not see it. */
export const Select = ({
  id,
  label,
  value,
  onValue,
  choices,
}: Value & { id?: string; label?: string; choices: readonly Choice[] }) => (
  <select
    {...(id === undefined ? {} : { id })}
    {...(label === undefined ? {} : { 'aria-label': label })}
    value={value}
    onChange={(event) => onValue(event.currentTarget.value)}
  >
    {choices.map((choice) => (
      <option key={choice.value} value={choice.value} selected={choice.value === value}>
        {choice.label}
      </option>
    ))}
  </select>
);

export const CheckField = ({
  label,
  hint,
  checked,
  onChecked,
  disabled = false,
}: {
  label: ComponentChildren;
  hint?: string;
  checked: boolean;
  onChecked(checked: boolean): void;
  disabled?: boolean;
}) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChecked(event.currentTarget.checked)}
    />
    <span>
      {label}
      {hint === undefined ? null : <span class="hint soft small">{hint}</span>}
    </span>
  </label>
);

/** Nothing where there is nothing to say: an empty line would move the field. */
const Note = ({
  id,
  hint,
  mistake,
}: {
  id: string;
  hint?: ComponentChildren;
  mistake?: string | undefined;
}) =>
  hint === undefined && mistake === undefined ? null : (
    <div id={`${id}-note`}>
      {mistake === undefined ? null : <div class="mistake">{mistake}</div>}
      {hint === undefined ? null : <div class="hint">{hint}</div>}
    </div>
  );
