// A fake of a search server, for failures that a real one can't be brought to: tasks that hang or fail, answers that
// are lost, documents that it takes offence at, a memory that is gone. It does what it accepts, in order, and no more.

type Body = Record<string, unknown> & { id: string };
type Task = {
  uid: number;
  indexUid: string;
  status: 'enqueued' | 'succeeded' | 'failed';
  error: { code: string; type: string; message: string } | null;
  run(): void;
};

export type FakeMeilisearch = AsyncDisposable & {
  url: string;
  apiKey: undefined;
  /** Tasks stay enqueued until `release`, or `releaseOne`. */
  hold(): void;
  release(): void;
  releaseOne(): void;
  /** The next requests that write are done, but answered with 502. */
  loseAnswers(count: number): void;
  /** The next tasks fail without a fault of the documents. */
  failTasks(count: number, code: string): void;
  /** Tasks with one of these documents fail for it. */
  poison: Set<string>;
  away: boolean;
  /** Forgets everything, tasks too. */
  wipe(): void;
  tasks: Task[];
  documentsOf(indexUid: string): Map<string, Body>;
};

const failure = (code: string, type: string) => ({ code, type, message: `a message that quotes a document` });
const refused = (status: number, code: string): Response =>
  Response.json({ ...failure(code, 'invalid_request'), link: '' }, { status });

export function startFakeMeilisearch(): FakeMeilisearch {
  let indexes = new Map<string, { createdAt: string; documents: Map<string, Body> }>();
  let held = false;
  let answersToLose = 0;
  const failing: string[] = [];
  const documentsOf = (uid: string): Map<string, Body> => {
    const index = indexes.get(uid) ?? { createdAt: crypto.randomUUID(), documents: new Map<string, Body>() };
    indexes.set(uid, index);
    return index.documents;
  };

  const work = (tasksMax = held ? 0 : Number.POSITIVE_INFINITY): void => {
    for (const task of fake.tasks.filter(({ status }) => status === 'enqueued').slice(0, tasksMax)) {
      const code = failing.shift();
      if (code !== undefined) task.error = failure(code, code === 'internal' ? 'internal' : 'system');
      else task.run();
      task.status = task.error === null ? 'succeeded' : 'failed';
    }
  };
  const enqueue = (indexUid: string, run: (task: Task) => void): Response => {
    const task: Task = {
      uid: fake.tasks.length,
      indexUid,
      status: 'enqueued',
      error: null,
      run: () => run(task),
    };
    fake.tasks.push(task);
    setTimeout(work, 2);
    if (answersToLose === 0)
      return Response.json({ taskUid: task.uid, indexUid, status: 'enqueued' }, { status: 202 });
    answersToLose -= 1;
    return new Response('', { status: 502 });
  };

  const write = async (request: Request, uid: string, rest: string): Promise<Response | undefined> => {
    if (rest === '/documents') {
      const documents = (await request.text()).split('\n').map((line) => JSON.parse(line) as Body);
      return enqueue(uid, (task) => {
        if (documents.some(({ id }) => fake.poison.has(id)))
          task.error = failure('invalid_document', 'invalid_request');
        else for (const document of documents) documentsOf(uid).set(document.id, document);
      });
    }
    if (rest === '/documents/delete-batch') {
      const ids = (await request.json()) as string[];
      return enqueue(uid, () => {
        for (const id of ids) documentsOf(uid).delete(id);
      });
    }
    if (rest === '/documents/fetch')
      return Response.json({ results: select(documentsOf(uid), await request.json()) });
    if (rest === '/search') {
      const hits = [...documentsOf(uid).values()];
      return Response.json({ hits, totalHits: hits.length });
    }
    return undefined;
  };

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    if (fake.away) return refused(503, 'away');
    if (pathname === '/health') return Response.json({ status: 'available' });
    const [, area, name = '', ...more] = pathname.split('/');
    const rest = more.length === 0 ? '' : `/${more.join('/')}`;
    if (area === 'tasks') return answerTasks(fake.tasks, name, searchParams);
    if (name === '') {
      const { uid } = (await request.json()) as { uid: string };
      return enqueue(uid, () => void documentsOf(uid));
    }
    if (request.method === 'POST') return (await write(request, name, rest)) ?? refused(404, 'unknown');
    if (request.method === 'PATCH') return enqueue(name, () => undefined);
    if (request.method === 'DELETE') return enqueue(name, () => void indexes.delete(name));
    const index = indexes.get(name);
    if (index === undefined) return refused(404, 'index_not_found');
    if (rest === '') return Response.json({ uid: name, createdAt: index.createdAt });
    return Response.json({
      results: [...index.documents.values()].slice(Number(searchParams.get('offset'))),
    });
  };

  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
  const fake: FakeMeilisearch = {
    url: `http://127.0.0.1:${server.port}`,
    apiKey: undefined,
    poison: new Set(),
    away: false,
    tasks: [],
    documentsOf,
    hold() {
      held = true;
    },
    release() {
      held = false;
      work();
    },
    releaseOne: () => work(1),
    loseAnswers(count) {
      answersToLose = count;
    },
    failTasks(count, code) {
      failing.push(...Array.from({ length: count }, () => code));
    },
    wipe() {
      indexes = new Map();
      fake.tasks.length = 0;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
  return fake;
}

function answerTasks(tasks: readonly Task[], name: string, query: URLSearchParams): Response {
  if (name !== '') {
    const task = tasks[Number(name)];
    return task === undefined ? refused(404, 'task_not_found') : Response.json(task);
  }
  const statuses = query.get('statuses')?.split(',');
  const results = tasks.filter(
    ({ indexUid, status }) =>
      (query.get('indexUids') ?? indexUid) === indexUid && statuses?.includes(status) !== false,
  );
  return Response.json({ results: results.toReversed().slice(0, Number(query.get('limit') ?? 20)) });
}

function select(documents: Map<string, Body>, query: unknown): Body[] {
  const { ids, offset = 0, limit } = query as { ids?: string[]; offset?: number; limit: number };
  const found = [...documents.values()].filter(({ id }) => ids?.includes(id) !== false);
  return found.slice(offset, offset + limit);
}
