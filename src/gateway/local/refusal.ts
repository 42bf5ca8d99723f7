import { OpenAiRefusal } from '../../http/openai-error.ts';

/** 400 for a member with an invalid value. */
export const invalid = (sentence: string, param: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'invalid_value' });

/** 400 for a member that the built-in model has nothing for. */
export const unsupported = (sentence: string, param: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'unsupported_parameter' });
