import { type Route, route } from '../../http/operation.ts';
import { MODELS_STATE_EXAMPLE } from '../examples.ts';
import type { createModelsState } from '../operations/models-state.ts';
import { ModelsState } from '../state-schema.ts';

export const modelsStateRoute = (read: ReturnType<typeof createModelsState>): Route =>
  route(
    {
      area: 'models',
      credential: 'administration',
      scope: 'admin',
      id: 'models.state',
      method: 'GET',
      path: '/admin/api/models',
      summary: 'The models as they run: prices, targets with their circuits, the mistake of the models file',
      description:
        'As the process that answers has it: each one learns by its own calls how a target does. It contains no key ' +
        'and no header of an upstream.',
      responses: {
        200: { description: 'The catalogue.', schema: ModelsState, example: MODELS_STATE_EXAMPLE },
      },
    },
    ({ principal }) => read(principal),
  );
