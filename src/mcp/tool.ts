// A tool: what a client is shown of it, and what it does with operations of the service.

import { type Static, type TObject, Type } from '@sinclair/typebox';
import { ValidationFailure } from '../core/errors.ts';
import type { Principal, Scope } from '../core/principal.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import { createValidator } from '../http/validation.ts';

/** The caller of a tool, whose key was checked. */
export type ToolCaller = { principal: Principal; requestId: string; signal: AbortSignal };

/** An answer for programs, and as a text for models. */
export type ToolAnswer = { structured: Record<string, unknown>; text: string };

type ToolSpec<Input extends TObject> = {
  name: string;
  title: string;
  /** For the model that chooses among tools. */
  description: string;
  /** What the operations of the tool ask of a key. */
  scope: Scope;
  /** It may take minutes: the answer is a stream that is kept open. */
  isLong?: true;
  readOnly: boolean;
  input: Input;
  output: TObject;
};

export type Tool = ReturnType<typeof tool>;

/** `run` does what the tool is for; `call` calls operations by their ids in the OpenAPI document, and throws as they do. */
export function tool<Input extends TObject>(
  spec: ToolSpec<Input>,
  run: (call: InnerCall, caller: ToolCaller, input: Static<Input>) => Promise<ToolAnswer>,
) {
  // A misspelt argument must not widen what is found.
  const input: TObject = Type.Object(spec.input.properties, { additionalProperties: false });
  const validate = createValidator(input);
  return {
    ...spec,
    input,
    /** Throws ValidationFailure for arguments that the tool does not take, and as its operations do. */
    run(call: InnerCall, caller: ToolCaller, given: Record<string, unknown>): Promise<ToolAnswer> {
      const { value, entries } = validate(given, []);
      if (entries.length > 0) throw new ValidationFailure(entries);
      return run(call, caller, value as Static<Input>);
    },
  };
}

/** An integer argument that may be absent. */
export const count = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));

/** A name, a heading or a short text of a file: in quotation marks, on one line, so that it cannot pose as another source. */
export const quoted = (text: string): string => JSON.stringify(text).replaceAll(/[\u2028\u2029]/g, ' ');

/** A text of a file, with a mark before each of its lines. */
export const quotedLines = (text: string): string => text.replaceAll(/^/gm, '> ');
