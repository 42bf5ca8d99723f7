import { type CatalogueKeeper, modelNotFound } from '../catalogue/current.ts';
import type { ModelRead } from '../schema.ts';
import type { Model } from '../targets.ts';

export function createModels(catalogue: CatalogueKeeper) {
  return {
    list: async (): Promise<ModelRead[]> => (await catalogue.current()).models.map(render),
    /** Throws 404, naming the models there are. */
    async find(id: string): Promise<ModelRead> {
      const present = await catalogue.current();
      const found = present.byId.get(id);
      if (found === undefined) throw modelNotFound(present, id);
      return render(found);
    },
  };
}

const render = ({ id, created, ownedBy, endpoints, description }: Model): ModelRead => ({
  id,
  object: 'model',
  created,
  owned_by: ownedBy,
  endpoints: [...endpoints],
  ...(description === undefined ? {} : { description }),
});
