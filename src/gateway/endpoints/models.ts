import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { ModelRead } from '../schema.ts';
import type { Catalogue, Model } from '../targets.ts';

type CurrentCatalogue = () => Catalogue | Promise<Catalogue>;

/** The configured models, in the order of the file. */
export function createModels(catalogue: CurrentCatalogue) {
  return {
    list: async (): Promise<ModelRead[]> => (await catalogue()).models.map(render),
    /** Throws 404, naming the models there are. */
    async find(id: string): Promise<ModelRead> {
      const { models } = await catalogue();
      const found = models.find((model) => model.id === id);
      if (found !== undefined) return render(found);
      const names = models.map((model) => model.id).join(', ');
      throw new OpenAiRefusal(
        'not-found',
        `The model ${JSON.stringify(id)} does not exist. There are: ${names}`,
        {
          ...{ code: 'model_not_found', param: 'model' },
        },
      );
    },
  };
}

const render = ({ id, created, ownedBy, endpoints, description }: Model): ModelRead => ({
  ...{ id, object: 'model', created, owned_by: ownedBy, endpoints: [...endpoints] },
  ...(description === undefined ? {} : { description }),
});
