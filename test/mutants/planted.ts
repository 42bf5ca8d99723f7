// Mistakes to plant one at a time, each with the test that has to notice it.

export type Planted = {
  /** What no longer holds. */
  mistake: string;
  file: string;
  /** Stands in the file exactly once. */
  text: string;
  replacement: string;
  /** The test file that has to fail, and a part of the name of the test, where one of them is enough. */
  test: string;
  name?: string;
};

export const planted: readonly Planted[] = [
  // Who a key speaks for.
  {
    mistake: 'a key that names somebody is given that person’s private documents',
    file: 'src/chat/generate.ts',
    text: 'email: readsAs, text: message',
    replacement: 'email: caller.email, text: message',
    test: 'test/chat/converse.test.ts',
    name: 'a key that names somebody else',
  },
  {
    mistake: 'a key reads documents without the scope for them',
    file: 'src/chat/caller.ts',
    text: "readsAs: scopes.has('documents:read') ? email : null",
    replacement: 'readsAs: email',
    test: 'test/chat/converse.test.ts',
    name: 'a key without documents:read',
  },
  {
    mistake: 'a cursor of one workspace is good in another',
    file: 'src/usage/cursor.ts',
    text: '.update(describe(window))',
    replacement: ".update(describe({ ...window, workspaceId: '' }))",
    test: 'test/usage/paging.test.ts',
    name: 'a cursor is good for its workspace',
  },
  {
    mistake: 'a cursor of one window is good in another',
    file: 'src/usage/cursor.ts',
    text: '.update(describe(window))',
    replacement: '.update(describe({ ...window, to: 0 }))',
    test: 'test/usage/paging.test.ts',
    name: 'a cursor is good for its workspace',
  },
  {
    mistake: 'a cursor that was changed is taken',
    file: 'src/usage/cursor.ts',
    text: 'if (!timingSafeEqual(',
    replacement: 'if (false && !timingSafeEqual(',
    test: 'test/usage/paging.test.ts',
    name: 'a cursor is good for its workspace',
  },

  // Bounds.
  {
    mistake: 'statements wait for the database without end',
    file: 'src/infra/postgres/pool.ts',
    text: 'pending.size < pendingMax ?',
    replacement: 'pending.size < Number.POSITIVE_INFINITY ?',
    test: 'test/postgres/client.test.ts',
    name: 'only so many statements',
  },
  {
    mistake: 'one statement less may wait than is said',
    file: 'src/infra/postgres/pool.ts',
    text: 'pending.size < pendingMax ?',
    replacement: 'pending.size < pendingMax - 1 ?',
    test: 'test/postgres/client.test.ts',
    name: 'only so many statements',
  },
  {
    mistake: 'usage events wait without end',
    file: 'src/usage/appender.ts',
    text: 'if (waitingBytes > waitingBytesMax) throw',
    replacement: 'if (waitingBytes < 0) throw',
    test: 'test/usage/appender.test.ts',
    name: 'only so many bytes may wait',
  },
  {
    mistake: 'usage events that are stored go on counting as waiting',
    file: 'src/usage/appender.ts',
    text: '      running -= 1;\n      waitingBytes -= next.bytes;',
    replacement: '      running -= 1;',
    test: 'test/usage/appender.test.ts',
    name: 'only so many bytes may wait',
  },
  {
    mistake: 'usage events that were refused go on counting as waiting',
    file: 'src/usage/appender.ts',
    text: '        waitingBytes -= each.bytes;\n',
    replacement: '',
    test: 'test/usage/appender.test.ts',
    name: 'only so many bytes may wait',
  },
  {
    mistake: 'key sets are remembered without end',
    file: 'src/bots/key-sets.ts',
    text: 'remotes.size > keySetsMax && ',
    replacement: 'remotes.size < 0 && ',
    test: 'test/bots/key-sets.test.ts',
    name: 'only so many key sets',
  },
  {
    mistake: 'one key set less is remembered than is said',
    file: 'src/bots/key-sets.ts',
    text: 'remotes.size > keySetsMax && ',
    replacement: 'remotes.size >= keySetsMax && ',
    test: 'test/bots/key-sets.test.ts',
    name: 'only so many key sets',
  },
  {
    mistake: 'timers keep work of threads that is done',
    file: 'src/infra/wasm/pool.ts',
    text: '    clearTimeout(task.timer);\n    tasks.delete(task);',
    replacement: '    tasks.delete(task);',
    test: 'test/compute/pool.test.ts',
    name: 'keeps nothing of work that is done',
  },
  {
    mistake: 'callers’ signals keep work of threads that is done',
    file: 'src/infra/wasm/pool.ts',
    text: '    task.forget();\n',
    replacement: '',
    test: 'test/compute/pool.test.ts',
    name: 'keeps nothing of work that is done',
  },
  {
    mistake: 'the pool of threads keeps work that is done',
    file: 'src/infra/wasm/pool.ts',
    text: '    tasks.delete(task);\n',
    replacement: '',
    test: 'test/compute/pool.test.ts',
    name: 'keeps nothing of work that is done',
  },
  {
    mistake: 'work waits for threads without end',
    file: 'src/infra/wasm/pool.ts',
    text: 'lines[lane].length >= waitingMax',
    replacement: 'lines[lane].length > waitingMax',
    test: 'test/compute/pool.test.ts',
    name: 'refuses what is too much',
  },
  {
    mistake: 'an answer that is kept in the place of another counts twice',
    file: 'src/gateway/cache.ts',
    text: '    if (old !== undefined) forget(key, old);\n',
    replacement: '',
    test: 'test/gateway/cache.test.ts',
    name: 'an answer that is kept again',
  },
  {
    mistake: 'answers that are forgotten go on counting',
    file: 'src/gateway/cache.ts',
    text: 'if (kept.delete(key)) figures.bytes -= entry.bytes.length;',
    replacement: 'kept.delete(key);',
    test: 'test/gateway/cache.test.ts',
    name: 'an answer that is too old leaves',
  },
  {
    mistake: 'answers of models are kept without end',
    file: 'src/gateway/cache.ts',
    text: 'if (figures.bytes <= CACHE_BYTES_MAX) break;',
    replacement: 'if (entry.bytes.length > 0) break;',
    test: 'test/gateway/cache.test.ts',
    name: 'memory is bounded',
  },
  {
    mistake: 'the lease of a batch that is over is renewed for ever',
    file: 'src/infra/postgres/job-worker.ts',
    text: 'clearInterval(renewal);',
    replacement: '',
    test: 'test/postgres/job-queue.test.ts',
    name: 'has its lease renewed no longer',
  },
  {
    mistake: 'the lease of a batch that takes long is not renewed',
    file: 'src/infra/postgres/job-worker.ts',
    text: 'void renewLease(sql, jobs, leaseMs).catch(() => {})',
    replacement: 'undefined',
    test: 'test/postgres/job-queue.test.ts',
    name: 'two workers share the work',
  },

  // Exactly at the limit.
  {
    mistake: 'an answer is begun once less than is said',
    file: 'src/chat/recovery.ts',
    text: 'turn.attempt > ATTEMPTS_MAX',
    replacement: 'turn.attempt >= ATTEMPTS_MAX',
    test: 'test/chat/processes.test.ts',
    name: 'an answer that was begun twice',
  },
  {
    mistake: 'an answer is begun once more than is said',
    file: 'src/chat/recovery.ts',
    text: 'turn.attempt > ATTEMPTS_MAX',
    replacement: 'turn.attempt > ATTEMPTS_MAX + 1',
    test: 'test/chat/processes.test.ts',
    name: 'an answer that kills',
  },

  // What others did meanwhile.
  {
    mistake: 'an answer that was superseded is remembered',
    file: 'src/chat/turn-line.ts',
    text: '        memory.forget(turn.answerId);\n        counts.superseded += 1;',
    replacement: '        counts.superseded += 1;',
    test: 'test/chat/turn-line.test.ts',
  },
  {
    mistake: 'an answer that was not stored is remembered',
    file: 'src/chat/turn-line.ts',
    text: '      memory.forget(turn.answerId);\n      if (!(error instanceof',
    replacement: '      if (!(error instanceof',
    test: 'test/chat/turn-line.test.ts',
  },

  // Upstreams.
  {
    mistake: 'an upstream is left alone for as long as it likes',
    file: 'src/gateway/execute.ts',
    text: 'Math.min(failure.retryAfterMs, REST_MS_MAX)',
    replacement: 'failure.retryAfterMs',
    test: 'test/gateway/retry-after.test.ts',
    name: 'an upstream that asks for an hour',
  },
  {
    mistake: 'an upstream that asks to be left alone is not',
    file: 'src/gateway/execute.ts',
    text: 'if (failure.retryAfterMs !== undefined)\n',
    replacement: 'if (failure.retryAfterMs === -1)\n',
    test: 'test/gateway/retry-after.test.ts',
    name: 'an upstream that asks for an hour',
  },
  {
    mistake: 'the milliseconds that an upstream asks for are not read',
    file: 'src/gateway/answer.ts',
    text: "headers.get('retry-after-ms')",
    replacement: "headers.get('retry-after-microseconds')",
    test: 'test/gateway/retry-after.test.ts',
    name: 'an upstream’s time to wait',
  },
  {
    mistake: 'the milliseconds that an upstream asks for do not reach the caller',
    file: 'src/gateway/passed-headers.ts',
    text: "'retry-after', 'retry-after-ms'],",
    replacement: "'retry-after'],",
    test: 'test/gateway/retry-after.test.ts',
    name: 'reaches the caller',
  },
  {
    mistake: 'a failure with a reason does not say when to come again',
    file: 'src/gateway/answer.ts',
    text: "next: 'same', answer, status, retryAfterMs: readRetryAfter(response.headers) }",
    replacement: "next: 'same', answer, status }",
    test: 'test/gateway/retry-after.test.ts',
    name: 'an upstream’s time to wait',
  },

  // Other origins.
  {
    mistake: 'a cache may hand an answer for one origin to another',
    file: 'src/http/cors.ts',
    text: "response.headers.append('vary', 'origin');",
    replacement: '',
    test: 'test/http/cors.test.ts',
  },
  {
    mistake: 'an answer says that it varies in the place of what it varied with before',
    file: 'src/http/cors.ts',
    text: "response.headers.append('vary', 'origin');",
    replacement: "response.headers.set('vary', 'origin');",
    test: 'test/http/cors.test.ts',
  },
  {
    mistake: 'a cache may hand a preflight for some headers to one for others',
    file: 'src/http/cors.ts',
    text: "vary: 'origin, access-control-request-headers',",
    replacement: "vary: 'origin',",
    test: 'test/http/cors.test.ts',
  },
  {
    mistake: 'every origin may read answers',
    file: 'src/http/cors.ts',
    text: 'origin !== null && (everyOrigin || allowed.has(origin))',
    replacement: 'origin !== null',
    test: 'test/http/cors.test.ts',
  },

  // Usage events are read when they are there.
  {
    mistake: 'the end of a window is not read again after the wait for what is being stored',
    file: 'src/usage/operations/retrieve.ts',
    text: '    await awaitStoring(window.workspaceId);\n    return',
    replacement: '    void awaitStoring(window.workspaceId);\n    return',
    test: 'test/usage/retrieve.test.ts',
  },
  {
    mistake: 'the last page is read before what is being stored is there',
    file: 'src/usage/operations/retrieve.ts',
    text: 'if (fromEnd && !isOver) await awaitStoring(window.workspaceId);',
    replacement: 'if (fromEnd && !isOver) void awaitStoring(window.workspaceId);',
    test: 'test/usage/retrieve.test.ts',
  },

  // Signatures and forms.
  {
    mistake: 'parameters that are said several times are signed as they are sent',
    file: 'src/embedded/object-store/signature.ts',
    text: ' || compare(valueA, valueB)',
    replacement: '',
    test: 'test/object-store/signatures.test.ts',
    name: 'may say a parameter several times',
  },
  {
    mistake: 'of several size ranges of a form the last one counts',
    file: 'src/embedded/object-store/post-policy.ts',
    text: 'size = intersect(size, parseSizeRange(condition));',
    replacement: 'size = parseSizeRange(condition);',
    test: 'test/object-store/post-policy.test.ts',
    name: 'refuses one byte more or less',
  },
  {
    mistake: 'of several size ranges of a form the first one counts',
    file: 'src/embedded/object-store/post-policy.ts',
    text: 'Math.min(a.sizeBytesMax, b.sizeBytesMax)',
    replacement: 'a.sizeBytesMax',
    test: 'test/object-store/post-policy.test.ts',
    name: 'refuses one byte more or less',
  },
  {
    mistake: 'of several smallest sizes of a form the first one counts',
    file: 'src/embedded/object-store/post-policy.ts',
    text: 'Math.max(a.sizeBytesMin, b.sizeBytesMin)',
    replacement: 'b.sizeBytesMin',
    test: 'test/object-store/post-policy.test.ts',
    name: 'refuses one byte more or less',
  },
  {
    mistake: 'an expired form is taken',
    file: 'src/embedded/object-store/post-policy.ts',
    text: 'if (check.now >= policy.expiresMs)',
    replacement: 'if (check.now < 0)',
    test: 'test/object-store/post-policy.test.ts',
    name: 'ends at its expiration',
  },
  {
    mistake: 'a field of a form that no condition covers is taken',
    file: 'src/embedded/object-store/post-policy.ts',
    text: 'if (extra.length > 0) throw',
    replacement: 'if (extra.length > 99) throw',
    test: 'test/object-store/post-policy.test.ts',
    name: 'holds as well as all the others',
  },
  {
    mistake: 'a quote in a file’s name ends the quotes of its header',
    file: 'src/infra/s3/presign.ts',
    text: '["\\\\%/]',
    replacement: '[\\\\%/]',
    test: 'test/s3/presign.test.ts',
    name: 'a file name cannot end the quotes',
  },
  {
    mistake: 'a backslash in a file’s name keeps the quotes of its header open',
    file: 'src/infra/s3/presign.ts',
    text: '["\\\\%/]',
    replacement: '["%/]',
    test: 'test/s3/presign.test.ts',
    name: 'a file name cannot end the quotes',
  },
  {
    mistake: 'a line break in a file’s name reaches its header',
    file: 'src/infra/s3/presign.ts',
    text: '[^\\x20-\\x7e]|',
    replacement: '',
    test: 'test/s3/presign.test.ts',
    name: 'a file name cannot end the quotes',
  },
];
