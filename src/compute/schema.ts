import { Type } from '@sinclair/typebox';
import { N_DEFAULT, N_MAX } from './limits.ts';

export const ComputeQuery = Type.Object({
  n: Type.Integer({ minimum: 0, maximum: N_MAX, default: N_DEFAULT, description: 'Which Fibonacci number.' }),
});

export const ComputeResult = Type.Object(
  {
    n: Type.Integer({ description: 'Which Fibonacci number it is.' }),
    result: Type.String({ description: 'The number, in decimal digits.' }),
    duration_ms: Type.Number({ description: 'What it took on its thread.' }),
  },
  { $id: 'ComputeResult', description: 'A Fibonacci number.' },
);
