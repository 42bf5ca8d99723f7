import type { Sql, Transaction } from '../../src/infra/postgres/client.ts';

/** A client that counts the statements that it sends. */
export function countStatements(sql: Sql): { counted: Sql; statements: Set<object> } {
  const statements = new Set<object>();
  const counted = new Proxy(sql, {
    apply(target, self, words) {
      // Fragments are no statements of their own: only what is awaited is handled.
      const query = Reflect.apply(target, self, words);
      const { handle } = query;
      query.handle = () => {
        statements.add(query);
        return handle.call(query);
      };
      return query;
    },
  });
  return { counted, statements };
}

/** A client that keeps the text of each statement that it sends, in transactions and on reserved connections as well. */
export function collectStatements(sql: Sql): { collected: Sql; texts(): string[] } {
  const sent = new Set<object>();
  const noted = (value: unknown): unknown => {
    if (value instanceof Promise && 'handle' in value) sent.add(value);
    return value;
  };
  const wrap = <Client extends object>(client: Client): Client =>
    new Proxy(client, {
      apply: (target, self, words) => noted(Reflect.apply(target as never, self, words)),
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (name === 'unsafe')
          return (...words: unknown[]) => noted(Reflect.apply(member as never, target, words));
        if (name === 'reserve')
          return (...words: unknown[]) => wrap(Reflect.apply(member as never, target, words) as object);
        if (name === 'begin')
          return (run: (tx: Transaction) => Promise<unknown>) => sql.begin((tx) => run(wrap(tx)));
        return member;
      },
    });
  return {
    collected: wrap(sql),
    // Fragments are pieces of other statements, and never become a text of their own.
    texts: () => [...sent].flatMap((query) => ('string' in query && query.string ? [`${query.string}`] : [])),
  };
}
