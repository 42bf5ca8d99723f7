import { OpenAiRefusal } from '../http/openai-error.ts';
import type { ModelCall } from './model-call.ts';
import type { Catalogue, Model } from './targets.ts';

/** The model that is named, else the stated default of the endpoint. Throws 404, naming the models there are; 400 for one that cannot do this; 501 where none can. */
export function findModel(
  catalogue: Catalogue,
  { endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>,
): Model {
  if (endpoint === 'images' && !catalogue.models.some(({ endpoints }) => endpoints.includes('images'))) {
    throw new OpenAiRefusal('not-implemented', 'No model that makes images is configured');
  }
  const name = request.model ?? catalogue.statedDefaults[endpoint];
  if (name === undefined || name === '') {
    throw new OpenAiRefusal('malformed', "The member 'model' is required", {
      param: 'model',
      code: 'missing_required_parameter',
    });
  }
  const model = catalogue.find(name);
  if (model === undefined) {
    const shown = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    const names = catalogue.models.map(({ id }) => id).join(', ');
    throw new OpenAiRefusal(
      'not-found',
      `The model ${JSON.stringify(shown)} does not exist. There are: ${names}`,
      {
        ...{ code: 'model_not_found', param: 'model' },
      },
    );
  }
  if (!model.endpoints.includes(endpoint)) {
    const can = model.endpoints.join(', ');
    throw new OpenAiRefusal('malformed', `The model ${model.id} cannot do ${endpoint}; it does ${can}`, {
      param: 'model',
    });
  }
  return model;
}
