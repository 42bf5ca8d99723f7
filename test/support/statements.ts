import type { Sql } from '../../src/infra/postgres/client.ts';

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
