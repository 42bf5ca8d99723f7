import { Type } from '@sinclair/typebox';
import { component, integer, text } from '../http/schemas.ts';
import { N_DEFAULT, N_MAX } from './limits.ts';

export const ComputeQuery = Type.Object({
  n: Type.Integer({ minimum: 0, maximum: N_MAX, default: N_DEFAULT, description: 'Which Fibonacci number.' }),
});

export const ComputeResult = component('ComputeResult', 'A Fibonacci number.', {
  n: integer('Which Fibonacci number it is.'),
  result: text('The number, in decimal digits.'),
  duration_ms: Type.Number({ description: 'What it took on its thread.' }),
});
