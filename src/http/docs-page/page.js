// The page of /docs: Swagger UI, where a key that is pasted once is sent with every operation, in the header that the
// operation takes, and where the key's workspace is filled in.

/** Answers for whom a key speaks. */
const SESSION = '/admin/api/session';
/** The scheme whose box stands for all of them. */
const SHOWN_SCHEME = 'APIKeyHeader';
const HINT =
  'Paste an API key once. The page sends it with every operation, in the header that the operation takes, and fills in ' +
  'the workspace of the key.';

const isDark = window.matchMedia('(prefers-color-scheme: dark)');
const followTheme = () => document.documentElement.classList.toggle('dark-mode', isDark.matches);
isDark.addEventListener('change', followTheme);
followTheme();

/** Names of the schemes that carry a key in a header: a URL is no place for one. */
const headerSchemes = ({ components: { securitySchemes } }) =>
  Object.keys(securitySchemes).filter((name) => {
    const { in: place, scheme } = securitySchemes[name];
    return place === 'header' || scheme === 'bearer';
  });

/**
 * The document as the page shows it. Where the interface lists the header of the key as a parameter, too, the padlock
 * stands for it; of several ways to send the key one is taken.
 */
function withOneKey(described) {
  const schemes = headerSchemes(described);
  const headers = schemes.map((name) => described.components.securitySchemes[name].name ?? 'Authorization');
  const isKey = ({ in: place, name }) =>
    place === 'header' && headers.some((each) => each.toLowerCase() === name.toLowerCase());
  for (const operation of Object.values(described.paths).flatMap(Object.values)) {
    operation.parameters = operation.parameters.filter((parameter) => !isKey(parameter));
    const named = operation.security.flatMap(Object.keys).find((name) => schemes.includes(name));
    operation.security = named === undefined ? [] : [{ [named]: [] }];
  }
  return described;
}

/**
 * What stands at a path of the document, with what its references lead to in their places; a reference within what it leads
 * to stays one. Swagger UI's own resolver reads the whole document anew for each operation that is opened, for about a second.
 */
function resolvedAt(described, path) {
  const follow = (names) => names.reduce((found, name) => found?.[name], described);
  const resolve = (value, within) => {
    if (Array.isArray(value)) return value.map((each) => resolve(each, within));
    if (value === null || typeof value !== 'object') return value;
    const { $ref } = value;
    if (typeof $ref !== 'string')
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, within)]));
    return within.includes($ref) ? value : resolve(follow($ref.split('/').slice(1)), [...within, $ref]);
  };
  return resolve(follow(path), []);
}

/** A plugin of Swagger UI: one box for the key, a value for every parameter of a name, and a resolver of references. */
function createPlugin(described) {
  const schemes = headerSchemes(described);
  const { securitySchemes } = described.components;
  return ({ Im }) => {
    const box = Im.fromJS([{ [SHOWN_SCHEME]: { ...securitySchemes[SHOWN_SCHEME], description: HINT } }]);
    return {
      fn: {
        resolveSubtree: async (_, path) => ({ spec: resolvedAt(described, path), errors: [] }),
      },
      statePlugins: {
        auth: {
          wrapSelectors: {
            definitionsToAuthorize: () => () => box,
            definitionsForRequirements: () => () => box,
          },
          wrapActions: {
            authorize: (authorize, system) => (given) => {
              const value = toKey(given[SHOWN_SCHEME]?.value);
              if (value === '') return;
              authorize(
                Object.fromEntries(
                  schemes.map((name) => [name, { name, schema: securitySchemes[name], value }]),
                ),
              );
              void recognise(system, value);
            },
            restoreAuthorization: (restore, system) => (given) => {
              restore(given);
              const value = given.authorized?.[SHOWN_SCHEME]?.value;
              if (value !== undefined) void recognise(system, value);
            },
            logout: (logout) => () => logout(schemes),
          },
        },
        spec: {
          actions: { fillIn: (name, value) => ({ type: 'atrium_fill_in', payload: { name, value } }) },
          reducers: {
            atrium_fill_in: (state, { payload }) => fillIn(state, { described, ...payload }),
          },
        },
      },
    };
  };
}

const toKey = (pasted) => (pasted ?? '').trim().replace(/^Bearer +/i, '');

/** The state of Swagger UI with the value in each path parameter of that name; what a person types counts for more. */
function fillIn(state, { described, name, value }) {
  return state.withMutations((changed) => {
    for (const [path, operations] of Object.entries(described.paths)) {
      if (!path.includes(`{${name}}`)) continue;
      for (const method of Object.keys(operations))
        changed.setIn(['meta', 'paths', path, method, 'parameters', `path.${name}`, 'value'], value);
    }
  });
}

/** Fills in the key's workspace; a key that is not good is said to be none, and not kept. */
async function recognise({ specActions, authActions, errActions }, key) {
  const errors = { authId: SHOWN_SCHEME, source: 'auth', level: 'error' };
  errActions.clear({ source: 'auth' });
  const answer = await fetch(SESSION, { headers: { [SHOWN_SCHEME]: key } });
  if (answer.ok) specActions.fillIn('workspace_id', (await answer.json()).workspace_id);
  if (answer.status !== 401) return;
  authActions.logoutWithPersistOption([SHOWN_SCHEME]);
  errActions.newAuthErr({ ...errors, message: (await answer.json()).detail });
}

async function show(place) {
  const answer = await fetch(place.dataset.document);
  if (!answer.ok) {
    place.textContent = `The description cannot be had at present (${answer.status}). Reload the page to try again.`;
    return;
  }
  const described = withOneKey(await answer.json());
  window.ui = SwaggerUIBundle({
    spec: described,
    domNode: place,
    plugins: [createPlugin(described)],
    persistAuthorization: true,
    displayRequestDuration: true,
    deepLinking: true,
    filter: true,
    // After each click everything that is open is drawn again, which takes a second with all operations.
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
  });
}

void show(document.getElementById('swagger-ui'));
