// What administrators read of the catalogue as it runs.

import { type Static, Type } from '@sinclair/typebox';
import { component, Moment, moment, nullable, oneOf, text } from '../http/schemas.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const number = (description: string) => Type.Number({ description });

const Mistake = component(
  'ModelsMistake',
  'Why the models could not be read again: those that were known go on.',
  {
    message: text('Where in the file it is, and the reason.'),
    line: nullable(Type.Integer({ minimum: 1 }), 'Line of the models file; null where no line is wrong.'),
    at: moment('When it was found.'),
  },
);

const Price = component('ModelPrice', 'A price by the models file.', {
  input_per_million: number('For a million tokens of the request.'),
  output_per_million: number('For a million tokens of the answer.'),
  cache_read_per_million: Type.Optional(
    number('For a million tokens that the upstream reads from its cache.'),
  ),
  cache_write_per_million: Type.Optional(
    number('For a million tokens that the upstream writes to its cache.'),
  ),
  per_image: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'For a picture, by size, quality, both, or `default`.',
    }),
  ),
});

const CatalogueModel = component('CatalogueModel', 'A model as it is served.', {
  id: text('What requests name the model by.'),
  description: nullable(Type.String(), 'What the models file says about it.'),
  owned_by: text('Whose model it is.'),
  endpoints: Type.Array(Type.String(), { description: 'What it can do.' }),
  default_of: Type.Array(Type.String(), { description: 'Endpoints that it is the default of.' }),
  strategy: text('How a target is chosen: `weighted` or `latency`.'),
  targets: Type.Array(
    Type.Object({
      target: text('The name of the target.'),
      weight: number('Its weight among those of this model.'),
    }),
    { description: 'What answers.' },
  ),
  fallbacks: Type.Array(Type.String(), { description: 'Models that answer if all its targets fail.' }),
  price: nullable(Price, 'Null where the models file has none: keys with a budget cannot use it.'),
  cache_ttl_seconds: number('How long an answer is kept; 0: not at all.'),
});

const Circuit = component('TargetCircuit', 'Whether a target is called.', {
  state: oneOf(['closed', 'open', 'half-open'], {
    description:
      '`closed`: the target is called. `open`: it failed several times in a row, and is left alone for a while. ' +
      '`half-open`: the next call tries whether it works again.',
  }),
  since: moment('When it came into this state.'),
});

const Failure = component('TargetFailure', 'An attempt that failed.', {
  at: moment('When it failed.'),
  kind: text('The kind of failure, such as `upstream-timeout`.'),
  reason: text('One sentence. No text of the upstream is in it.'),
  code: nullable(Type.String(), 'As callers read it, such as `upstream_connect_timeout`.'),
  status: nullable(Type.Integer(), "The upstream's status; null where it gave none."),
});

const Attempts = component('TargetAttempts', 'Attempts since the start of the process.', {
  ok: count('Answered.'),
  refused: count("Answered with the upstream's own error."),
  failed: count('Not reached, hung up, or answered with what is no answer.'),
  'timed-out': count('Not answered in time.'),
  left: count('The caller disconnected.'),
});

const TargetState = component('TargetState', 'How a target does.', {
  target: text('Its name: `upstream/model`, or `local/…` for a model that is built in.'),
  kind: text("The upstream's protocol, or `built-in`."),
  base_url: nullable(Type.String(), 'Address of the upstream, for operators alone.'),
  circuit: Circuit,
  resting_until: nullable(Moment, 'The upstream has requested a pause until then.'),
  latency_ms: nullable(
    Type.Number(),
    'Time until its answers began, lately: a peak counts at once and is forgotten slowly. Null before the first.',
  ),
  latency_at: nullable(Moment, 'When it was last measured.'),
  running: count('Calls that it is answering.'),
  waiting: count('Calls that wait for a place at its upstream.'),
  attempts: Attempts,
  last_failure: nullable(Failure, 'Null where no attempt has failed.'),
});

export const ModelsState = component('ModelsState', 'The catalogue as it runs.', {
  source: oneOf(['file', 'upstream', 'built-in'], {
    description: 'The models file, the list of one upstream, or the models that are built in.',
  }),
  file: nullable(Type.String(), 'Path of the models file, for operators alone.'),
  read_at: nullable(Moment, 'When these models were read; null if they never were.'),
  mistake: nullable(Mistake, 'Null where the last reading succeeded.'),
  models: Type.Array(CatalogueModel, { description: 'In the order of the models file.' }),
  targets: Type.Array(TargetState, { description: 'What the models name.' }),
});
export type ModelsState = Static<typeof ModelsState>;
