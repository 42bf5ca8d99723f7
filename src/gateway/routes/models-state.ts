import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer } from '../../http/input.ts';
import { MODELS_STATE_EXAMPLE } from '../examples.ts';
import type { createModelsState } from '../operations/models-state.ts';
import { ModelsState } from '../state-schema.ts';

export const modelsStateRoutes = ({ plugin }: Http, read: ReturnType<typeof createModelsState>) =>
  new Elysia({ name: 'gateway.models-state', tags: ['models'] })
    .use(plugin)
    .get('/admin/api/models', ({ principal }) => read(principal), {
      key: { in: 'administration', scope: 'admin' },
      response: {
        200: answer({ description: 'The catalogue.', schema: ModelsState, example: MODELS_STATE_EXAMPLE }),
      },
      detail: {
        operationId: 'models.state',
        summary:
          'The models as they run: prices, targets with their circuits, the mistake of the models file',
        description:
          'As the process that answers has it: each one learns by its own calls how a target does. It contains no key ' +
          'and no header of an upstream.',
      },
    });
