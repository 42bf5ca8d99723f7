// A tool: what a client is shown of it, and the operations of the service that it calls.

import { type Static, type TObject, Type } from '@sinclair/typebox';
import { ValidationFailure } from '../core/errors.ts';
import type { Principal, Scope } from '../core/principal.ts';
import type { InnerInput } from '../http/inner-calls.ts';
import { createValidator, type Validator } from '../http/validation.ts';

/** The operations that tools and resources call, by the ids that they have in the OpenAPI document. */
export const OPERATIONS = {
  search: 'documents.search',
  retrieve: 'documents.retrieve',
  excerpt: 'documents.excerpt',
  download: 'documents.download',
  openSession: 'chat.create-session',
  send: 'chat.send-message',
} as const;

/** The caller of a tool, whose key was checked. */
export type OperationCaller = { principal: Principal; requestId: string; signal: AbortSignal };

/** Each throws as the operation does. */
export type Operations = Record<
  keyof typeof OPERATIONS,
  (caller: OperationCaller, input: InnerInput) => Promise<unknown>
>;

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
  run(operations: Operations, caller: OperationCaller, input: Static<Input>): Promise<ToolAnswer>;
};

export type Tool = Omit<ToolSpec<TObject>, 'run'> & {
  /** Throws ValidationFailure for arguments that the tool does not take, and as its operations do. */
  call(operations: Operations, caller: OperationCaller, given: Record<string, unknown>): Promise<ToolAnswer>;
};

export function tool<Input extends TObject>({ run, ...spec }: ToolSpec<Input>): Tool {
  // A misspelt argument must not widen what is found.
  const input = Type.Object(spec.input.properties, { additionalProperties: false });
  let validate: Validator | undefined;
  return {
    ...spec,
    input,
    call(operations, caller, given) {
      validate ??= createValidator(input);
      const { value, entries } = validate(given, []);
      if (entries.length > 0) throw new ValidationFailure(entries);
      return run(operations, caller, value as Static<Input>);
    },
  };
}
