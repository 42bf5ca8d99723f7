import type { TSchema } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer, bytes, parameters } from '../../http/input.ts';
import { openAiRefusals } from '../../http/openai-error.ts';
import { HTTPValidationError } from '../../http/schemas.ts';
import { ChatCompletion, Completion, EmbeddingList, embeddingOut, ImageList } from '../answer-schema.ts';
import { type CatalogueKeeper, idsOf } from '../catalogue/current.ts';
import { AT_MOST_ONCE_HEADER, type Entry } from '../entry.ts';
import {
  CHAT_EXAMPLE,
  CHAT_REQUEST_EXAMPLE,
  CHAT_STREAM_EXAMPLE,
  COMPLETION_EXAMPLE,
  COMPLETION_REQUEST_EXAMPLE,
  COMPLETION_STREAM_EXAMPLE,
  EMBEDDING_EXAMPLE,
  EMBEDDING_REQUEST_EXAMPLE,
  IMAGE_EXAMPLE,
  IMAGE_REQUEST_EXAMPLE,
  MODEL_EXAMPLE,
} from '../examples.ts';
import { EMBEDDINGS_BODY_BYTES_MAX } from '../limits.ts';
import type { Endpoint } from '../request.ts';
import {
  ChatRequest,
  type Choice,
  CompletionRequest,
  EmbeddingRequest,
  embeddingIn,
  ImageRequest,
  ModelList,
  ModelPath,
  ModelRead,
  modelEnum,
  WorkspacePath,
} from '../schema.ts';
import { type Model, TARGET_HEADER } from '../targets.ts';
import type { WorkspaceEmbeddings } from '../workspace-embeddings.ts';

export type ModelCallRoutesDeps = {
  entry: Entry;
  embeddings: WorkspaceEmbeddings;
  catalogue: CatalogueKeeper;
  /** Largest request. */
  bodyBytesMax: number;
};

/** For the documentation: the models of an endpoint, and its default; none while none is known yet. */
function choicesOf({ known }: CatalogueKeeper, endpoint: Endpoint): Choice {
  if (known === undefined) return { ids: [], fallback: undefined };
  const { defaults, statedDefaults } = known;
  const fallback = endpoint === 'embeddings' ? defaults.embeddings : statedDefaults[endpoint];
  return { ids: idsOf(known, endpoint), fallback };
}

const toModelRead = ({ id, created, ownedBy, endpoints, description }: Model): ModelRead => ({
  id,
  object: 'model',
  created,
  owned_by: ownedBy,
  endpoints: [...endpoints],
  ...(description === undefined ? {} : { description }),
});

const MODELS = { key: { in: 'models', scope: 'models', stale: true }, errors: 'openai' } as const;
/** The upstream's own time-outs hold, and comments keep streams alive. */
const CALL = { ...MODELS, work: 'model', noIdleTimeout: true } as const;
const CALL_REFUSALS = openAiRefusals(401, 403, 404, 408, 413, 415, 429, 500, 501, 502, 503, 504);
const ASK_REFUSALS = openAiRefusals(401, 403, 503);

type Spec = {
  endpoint: Endpoint;
  path: string;
  summary: string;
  schema: TSchema;
  /** Of a body; its model is the default where there is one. */
  example: object;
  answered: { schema: TSchema; example: unknown; stream?: string };
};

const CALLS: readonly Spec[] = [
  {
    endpoint: 'chat',
    path: '/chat/completions',
    summary: 'Answer a conversation, at once or as a stream',
    schema: ChatRequest,
    example: CHAT_REQUEST_EXAMPLE,
    answered: { schema: ChatCompletion, example: CHAT_EXAMPLE, stream: CHAT_STREAM_EXAMPLE },
  },
  {
    endpoint: 'completions',
    path: '/completions',
    summary: 'Continue a text, at once or as a stream',
    schema: CompletionRequest,
    example: COMPLETION_REQUEST_EXAMPLE,
    answered: { schema: Completion, example: COMPLETION_EXAMPLE, stream: COMPLETION_STREAM_EXAMPLE },
  },
  {
    endpoint: 'images',
    path: '/images/generations',
    summary: 'Make images',
    schema: ImageRequest,
    example: IMAGE_REQUEST_EXAMPLE,
    answered: { schema: ImageList, example: IMAGE_EXAMPLE },
  },
  {
    endpoint: 'embeddings',
    path: '/embeddings',
    summary: "Turn texts into vectors, in the key's workspace",
    schema: EmbeddingRequest,
    example: EMBEDDING_REQUEST_EXAMPLE,
    answered: { schema: EmbeddingList, example: EMBEDDING_EXAMPLE },
  },
];

const DESCRIPTION =
  'As in the API of OpenAI; members that are not shown go on to the upstream as they are. ' +
  `With the header \`${AT_MOST_ONCE_HEADER}: true\` an upstream is asked once, whatever comes of it. ` +
  `The answer's header \`${TARGET_HEADER}\` names the target that has answered, or failed last: \`upstream/model\`, ` +
  '`local/…` for a model that is built in, `cache` for an answer that was kept.';

/** An example that names an existing model. */
const withModel = (example: object, choice: () => Choice) => (): object => {
  const { ids, fallback } = choice();
  const model = fallback ?? ids[0];
  return model === undefined ? example : { ...example, model };
};

/** The API of OpenAI stands below `/v1` and at the root. */
export const modelCallRoutes = (http: Http, deps: ModelCallRoutesDeps) =>
  new Elysia({ name: 'gateway.model-calls' })
    .use(openAiRoutes(http, '/v1', deps))
    .use(openAiRoutes(http, '', deps))
    .use(workspaceRoutes(http, deps));

function openAiRoutes(
  { plugin }: Http,
  prefix: '/v1' | '',
  { entry, catalogue, bodyBytesMax }: ModelCallRoutesDeps,
) {
  const suffix = prefix === '' ? '-at-root' : '';
  const app = new Elysia({ prefix, tags: ['models'] }).use(plugin);
  for (const { endpoint, path, summary, schema, example, answered } of CALLS)
    app.post(
      path,
      ({ request, body, principal, state }) => entry.forward(endpoint, { request, body, principal, state }),
      {
        ...CALL,
        body: bytes(
          {
            'application/json': { schema, example: withModel(example, () => choicesOf(catalogue, endpoint)) },
          },
          {
            bytesMax:
              endpoint === 'embeddings' ? Math.min(bodyBytesMax, EMBEDDINGS_BODY_BYTES_MAX) : bodyBytesMax,
            inflates: true,
          },
        ),
        response: {
          200: answer({
            description:
              answered.stream === undefined
                ? 'The answer.'
                : 'The answer; with `stream: true` in the body it comes as server-sent events.',
            ...answered,
          }),
          ...CALL_REFUSALS,
          ...openAiRefusals(400),
        },
        detail: { operationId: `models.${endpoint}${suffix}`, summary, description: DESCRIPTION },
      },
    );
  const find = {
    ...MODELS,
    params: parameters(ModelPath),
    response: {
      200: answer({ description: 'The model.', schema: ModelRead, example: MODEL_EXAMPLE }),
      ...ASK_REFUSALS,
      ...openAiRefusals(400, 404),
    },
  };
  /** Throws 404, naming the models there are. */
  const findModel = async (id: string): Promise<ModelRead> => {
    const present = await catalogue.current();
    const model = present.byId.get(id);
    if (model === undefined) throw catalogue.notFound(present, id);
    return toModelRead(model);
  };
  const found = { operationId: `models.find${suffix}`, summary: 'One model' };
  return (
    app
      .get(
        '/models',
        async () => ({ object: 'list', data: (await catalogue.current()).models.map(toModelRead) }),
        {
          ...MODELS,
          response: {
            200: answer({
              description: 'All of them.',
              schema: ModelList,
              example: { object: 'list', data: [MODEL_EXAMPLE] },
            }),
            ...ASK_REFUSALS,
          },
          detail: { operationId: `models.list${suffix}`, summary: 'The models that are configured' },
        },
      )
      .get('/models/:model_id', ({ params }) => findModel(params.model_id), { ...find, detail: found })
      // `meta-llama/Llama-3` and the like are often sent as they are.
      .get('/models/*', ({ params }) => findModel(params.model_id), {
        ...find,
        detail: { ...found, hide: true },
      })
  );
}

function workspaceRoutes({ plugin }: Http, { embeddings, catalogue, bodyBytesMax }: ModelCallRoutesDeps) {
  const ofEmbeddings = () => choicesOf(catalogue, 'embeddings');
  const ModelEnum = modelEnum(ofEmbeddings);
  return new Elysia({ tags: ['models'] })
    .use(plugin)
    .post(
      '/:workspace_id/v1/embeddings',
      ({ request, body, principal, state }) => embeddings.answer({ request, body, principal, state }),
      {
        ...CALL,
        errors: 'openai-but-validation',
        params: parameters(WorkspacePath),
        body: bytes(
          {
            'application/json': {
              schema: embeddingIn(ModelEnum),
              example: withModel(EMBEDDING_REQUEST_EXAMPLE, ofEmbeddings),
            },
          },
          { bytesMax: Math.min(bodyBytesMax, EMBEDDINGS_BODY_BYTES_MAX), inflates: true },
        ),
        response: {
          200: answer({
            description: 'A vector for each text.',
            schema: embeddingOut(ModelEnum),
            example: withModel(EMBEDDING_EXAMPLE, ofEmbeddings),
          }),
          422: answer({ description: 'Validation error.', schema: HTTPValidationError }),
          ...CALL_REFUSALS,
        },
        detail: { operationId: 'models.embed-for-workspace', summary: 'Turn texts into vectors' },
      },
    );
}
