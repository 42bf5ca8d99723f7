import type { TSchema } from '@sinclair/typebox';
import { withOpenAiErrors } from '../../http/openai-error.ts';
import { type Route, route } from '../../http/operation.ts';
import { HTTPValidationError } from '../../http/schemas.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { ChatCompletion, Completion, EmbeddingList, embeddingOut, ImageList } from '../answer-schema.ts';
import type { Forward } from '../endpoints/forward.ts';
import { AT_MOST_ONCE_HEADER } from '../endpoints/forward.ts';
import type { createModels } from '../endpoints/models.ts';
import type { createWorkspaceEmbeddings } from '../endpoints/workspace-embeddings.ts';
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
  NoParameters,
  WorkspacePath,
} from '../schema.ts';
import { TARGET_HEADER } from '../targets.ts';

export type ModelCallRoutesDeps = {
  forward: Forward;
  workspaceEmbeddings: ReturnType<typeof createWorkspaceEmbeddings>;
  models: ReturnType<typeof createModels>;
  /** Largest request. */
  bodyBytesMax: number;
  /** For the documentation: the currently available models. */
  choices(endpoint: Endpoint): Choice;
};

const MODELS = {
  area: 'models',
  credential: 'models',
  scope: 'models',
  errorShape: 'openai',
  allowsStaleAuthentication: true,
  parameters: NoParameters,
  query: NoParameters,
} as const;

const CALL_STATUSES = [400, 401, 403, 404, 408, 413, 415, 429, 500, 501, 502, 503, 504] as const;
const ASK_STATUSES = [401, 403, 503] as const;

type Spec = {
  endpoint: Endpoint;
  path: string;
  summary: string;
  schema: TSchema;
  /** Of a body; its model is the default where there is one. */
  example: object;
  answer: { schema: TSchema; example: unknown; stream?: string };
};

const CALLS: readonly Spec[] = [
  {
    endpoint: 'chat',
    path: '/chat/completions',
    summary: 'Answer a conversation, at once or as a stream',
    schema: ChatRequest,
    example: CHAT_REQUEST_EXAMPLE,
    answer: { schema: ChatCompletion, example: CHAT_EXAMPLE, stream: CHAT_STREAM_EXAMPLE },
  },
  {
    endpoint: 'completions',
    path: '/completions',
    summary: 'Continue a text, at once or as a stream',
    schema: CompletionRequest,
    example: COMPLETION_REQUEST_EXAMPLE,
    answer: { schema: Completion, example: COMPLETION_EXAMPLE, stream: COMPLETION_STREAM_EXAMPLE },
  },
  {
    endpoint: 'images',
    path: '/images/generations',
    summary: 'Make images',
    schema: ImageRequest,
    example: IMAGE_REQUEST_EXAMPLE,
    answer: { schema: ImageList, example: IMAGE_EXAMPLE },
  },
  {
    endpoint: 'embeddings',
    path: '/embeddings',
    summary: "Turn texts into vectors, in the key's workspace",
    schema: EmbeddingRequest,
    example: EMBEDDING_REQUEST_EXAMPLE,
    answer: { schema: EmbeddingList, example: EMBEDDING_EXAMPLE },
  },
];

const DESCRIPTION =
  'As in the API of OpenAI; members that are not shown go on to the upstream as they are. ' +
  `With the header \`${AT_MOST_ONCE_HEADER}: true\` an upstream is asked once, whatever comes of it. ` +
  `The answer's header \`${TARGET_HEADER}\` names the target that has answered, or failed last: \`upstream/model\`, ` +
  '`local/…` for a model that is built in, `cache` for an answer that was kept.';

/** Each operation stands below `/v1` and at the root. */
export function modelCallRoutes(deps: ModelCallRoutesDeps): Route[] {
  const { workspaceEmbeddings, models, choices, bodyBytesMax } = deps;
  const ofEmbeddings = () => choices('embeddings');
  const ModelEnum = modelEnum(ofEmbeddings);
  return [
    ...CALLS.flatMap((spec) => ['/v1', ''].map((prefix) => callRoute(spec, prefix, deps))),
    route(
      {
        ...MODELS,
        errorShape: 'openai-but-validation',
        noIdleTimeout: true,
        work: 'model',
        parameters: WorkspacePath,
        id: 'models.embed-for-workspace',
        method: 'POST',
        path: '/{workspace_id}/v1/embeddings',
        summary: 'Turn texts into vectors',
        bodyBytesMax,
        bodyInflates: true,
        bodyContent: {
          'application/json': {
            schema: embeddingIn(ModelEnum),
            example: withModel(EMBEDDING_REQUEST_EXAMPLE, ofEmbeddings),
          },
        },
        responses: withOpenAiErrors(
          {
            200: {
              description: 'A vector for each text.',
              schema: embeddingOut(ModelEnum),
              example: withModel(EMBEDDING_EXAMPLE, ofEmbeddings),
            },
            422: { description: 'Validation error.', schema: HTTPValidationError },
          },
          CALL_STATUSES.filter((status) => status !== 400),
        ),
      },
      workspaceEmbeddings,
    ),
    ...['/v1', ''].flatMap((prefix) => [
      route(
        {
          ...MODELS,
          id: `models.list${suffix(prefix)}`,
          method: 'GET',
          path: `${prefix}/models`,
          summary: 'The models that are configured',
          responses: withOpenAiErrors(
            {
              200: {
                description: 'All of them.',
                schema: ModelList,
                example: { object: 'list', data: [MODEL_EXAMPLE] },
              },
            },
            ASK_STATUSES,
          ),
        },
        async () => ({ object: 'list', data: await models.list() }),
      ),
      route(
        {
          ...MODELS,
          parameters: ModelPath,
          // `meta-llama/Llama-3` and the like are often sent as they are.
          lastTakesRest: true,
          id: `models.find${suffix(prefix)}`,
          method: 'GET',
          path: `${prefix}/models/{model_id}`,
          summary: 'One model',
          responses: withOpenAiErrors(
            { 200: { description: 'The model.', schema: ModelRead, example: MODEL_EXAMPLE } },
            [...ASK_STATUSES, 400, 404],
          ),
        },
        ({ path }) => models.find(path.model_id),
      ),
    ]),
  ];
}

const suffix = (prefix: string): string => (prefix === '' ? '-at-root' : '');

/** An example that names an existing model. */
const withModel = (example: object, choice: () => Choice) => (): object => {
  const { ids, fallback } = choice();
  const model = fallback ?? ids[0];
  return model === undefined ? example : { ...example, model };
};

const callRoute = (
  { endpoint, path, summary, schema, example, answer }: Spec,
  prefix: string,
  { forward, choices, bodyBytesMax }: ModelCallRoutesDeps,
) =>
  route(
    {
      ...MODELS,
      // The upstream's own time-outs hold, and comments keep streams alive.
      noIdleTimeout: true,
      work: 'model',
      id: `models.${endpoint}${suffix(prefix)}`,
      method: 'POST',
      path: `${prefix}${path}`,
      summary,
      description: DESCRIPTION,
      bodyBytesMax,
      bodyInflates: true,
      bodyContent: { 'application/json': { schema, example: withModel(example, () => choices(endpoint)) } },
      responses: withOpenAiErrors(
        {
          200: {
            description:
              answer.stream === undefined
                ? 'The answer.'
                : 'The answer; with `stream: true` in the body it comes as server-sent events.',
            ...answer,
          },
        },
        CALL_STATUSES,
      ),
    },
    forward(endpoint),
  );
