// What the service guarantees, the tests that show each guarantee, and the planted mistakes that turn one of them red.
// docs/reference/guarantees.md is made from this list.

export type Guarantee = {
  says: string;
  /** Test files, or folders of them. */
  tests: readonly string[];
  /** Sentences of planted mistakes, each of which has one of the tests. */
  mistakes: readonly string[];
};

export const guarantees: readonly Guarantee[] = [
  {
    says: 'A confirmed document is one record with one object, also after repeated or concurrent confirms and a crash',
    tests: ['test/acceptance/documents.test.ts', 'test/faults/crash.test.ts'],
    mistakes: ['confirms of one object at once make a document each'],
  },
  {
    says: 'Each file posted with one form becomes a document of its own, also while another one is being confirmed',
    tests: ['test/acceptance/documents.test.ts', 'test/documents/reused-form.test.ts'],
    mistakes: ['a second file that is posted with a form is taken for the first'],
  },
  {
    says: 'Acknowledged data survives SIGKILL of the service and all its embedded parts; no object is orphaned for longer than a sweep',
    tests: ['test/faults/crash.test.ts'],
    mistakes: ['the sweeper leaves unconfirmed uploads'],
  },
  {
    says: 'Acknowledged data survives a loss of power, from the first answer on: folders are flushed as well as files',
    tests: ['test/faults/power-cut.test.ts'],
    mistakes: [
      'usage events are acknowledged before the journal is flushed',
      'an upload is acknowledged before its file has a durable name',
      'the embedded database does not flush what it commits',
    ],
  },
  {
    says: 'During overload probes, sign-in and revocation pass, and so do workspaces that ask for little; what is refused has 503 and `Retry-After`',
    tests: ['test/service/overload.test.ts', 'test/http/admission.test.ts'],
    mistakes: ['a workspace may have all permits of a class of work', 'revocation waits for a permit'],
  },
  {
    says: 'Slow clients keep others from nothing: a request whose body has not arrived takes no permit, and unread answers, unfinished bodies and stalled transfers end or give way',
    tests: [
      'test/service/slow-clients.test.ts',
      'test/http/body.test.ts',
      'test/http/body-memory.test.ts',
      'test/gateway/leftovers.test.ts',
      'test/object-store/admission.test.ts',
    ],
    mistakes: [
      'a request has its permit before its body has arrived',
      'a body that has stalled keeps its memory',
      'a caller may keep an upstream waiting after each event anew',
      'the upload that moves gives way to the next one',
    ],
  },
  {
    says: 'A backup of a running service has every row of one moment and each object that its documents have; it comes back whole, or is refused',
    tests: ['test/backup/backup.test.ts', 'test/backup/command.test.ts'],
    mistakes: ['objects of purged documents are deleted while a backup runs'],
  },
  {
    says: 'Metadata and names are returned exactly as they were sent, every character and every digit',
    tests: ['test/acceptance/properties.test.ts'],
    mistakes: ['names are stored in another form of Unicode than they came in'],
  },
  {
    says: 'Purging deletes the object too, even if the store is unavailable at that moment',
    tests: ['test/faults/outages.test.ts'],
    mistakes: ['purging forgets the object'],
  },
  {
    says: 'What the file of a document says is read after its confirm, kept all or nothing, seen by those who see the document, and purged with it',
    tests: [
      'test/acceptance/content.test.ts',
      'test/documents/content/store.test.ts',
      'test/faults/reading-crash.test.ts',
    ],
    mistakes: [
      'a text is shown to everyone in the workspace',
      'a reading keeps what was found before a text was given',
      'old passages stay beside the new ones',
    ],
  },
  {
    says: 'A search by vectors finds exactly the nearest passages of all that are embedded, from that moment on, or says that it goes by the index of pgvector, or without vectors; each passage has one vector, of its own text, whatever ends or fails meanwhile',
    tests: [
      'test/documents/vectors/memory.test.ts',
      'test/documents/vectors/engines.test.ts',
      'test/documents/vectors/search.test.ts',
      'test/documents/vectors/engines.test.ts',
      'test/documents/vectors/embedding.test.ts',
      'test/gateway/model-embeddings.test.ts',
      'test/faults/embedding-crash.test.ts',
    ],
    mistakes: [
      'of vectors with one score the wrong ones are kept',
      'of two vectors that are compared together one has the score of the other',
      'vectors that were replaced stay in memory',
      'vectors are stored for a text that was replaced meanwhile',
      'another model answers before it has all documents',
    ],
  },
  {
    says: 'A copy that applies the lines of the export has exactly the passages of the documents that its caller may see, whatever happens to them and to the copy meanwhile',
    tests: [
      'test/documents/feed/follow.test.ts',
      'test/documents/feed/order.test.ts',
      'test/acceptance/passages.test.ts',
      'test/faults/knowledge-crash.test.ts',
    ],
    mistakes: [
      'a caller who may not see a document any more gets no tombstone of it',
      'what follows in a document is lost where a page ends within it',
      'passages are numbered before a change that does not know of them is over',
    ],
  },
  {
    says: 'A file harms its reader at most: it fails within ceilings of time and memory, the service and the files of others go on, and on Linux as root its reader has no network and the rights of nobody',
    tests: [
      'test/documents/content/hostile-files.test.ts',
      'test/documents/content/ceilings.test.ts',
      'test/documents/content/work.test.ts',
      'test/documents/content/slow-files.test.ts',
      'test/documents/content/confinement.test.ts',
      'test/documents/content/store.test.ts',
      'test/acceptance/content.test.ts',
      'test/acceptance/fair-reading.test.ts',
    ],
    mistakes: [
      'an archive inflates to any size',
      'a file may take any memory',
      'a file may take any processor time',
      'a file that kills its reader is tried without end',
      'a file that exceeded its time is tried again',
      'a file that takes long keeps the files of others waiting',
      'a file is read by a process with the rights of the service',
    ],
  },
  {
    says: 'While a database or store is down or slow, requests that need it get 503 with `Retry-After`; afterwards the service works as before',
    tests: ['test/faults/outages.test.ts'],
    mistakes: ['what is unavailable does not say when to come again'],
  },
  {
    says: "The process that revokes a key refuses it at once, and the other processes as soon as the database's notification reaches them",
    tests: ['test/access/revocation.test.ts', 'test/acceptance/processes.test.ts'],
    mistakes: ['a revoked key is good until the cache forgets it'],
  },
  {
    says: 'Permissions are as documented, for every endpoint and kind of caller',
    tests: ['test/acceptance/permissions.test.ts'],
    mistakes: [
      'curators may not edit',
      'every key of the workspace can see a private document',
      'every key of the workspace can administer a document',
    ],
  },
  {
    says: 'A request without a valid credential is refused before its body is read, in every operation',
    tests: ['test/acceptance/credentials.test.ts'],
    mistakes: ['a body is read before the credential is looked at'],
  },
  {
    says: "Only operators can change an operator's keys and user, also in a race",
    tests: ['test/access/operators.test.ts'],
    mistakes: ['an administrator can change an operator’s key'],
  },
  {
    says: 'A search is exact in Postgres and in Meilisearch: its items, order and total equal those of a full scan',
    tests: ['test/documents/search/differential.test.ts'],
    mistakes: ['the comparison lt includes its bound'],
  },
  {
    says: 'A search sees every write that was answered before it, from any client and process, even if Meilisearch is killed in between',
    tests: [
      'test/documents/search/freshness.test.ts',
      'test/documents/search/mirrored-words.test.ts',
      'test/acceptance/search.test.ts',
    ],
    mistakes: ['Meilisearch is asked while it lacks a change'],
  },
  {
    says: 'The mirror loses and reorders no change, whichever process is killed',
    tests: ['test/documents/search/mirror.test.ts', 'test/documents/search/mirror-failures.test.ts'],
    mistakes: ['what the search server did not take leaves the outbox'],
  },
  {
    says: 'Every filter operator uses an index, except those that the test names',
    tests: ['test/documents/search/plans.test.ts'],
    mistakes: ['there is no index of names'],
  },
  {
    says: 'An acknowledged usage event is stored exactly once and counted once, even if the service, the message queue, the database or all of them are killed',
    tests: ['test/faults/usage-crash.test.ts', 'test/usage/sink.test.ts'],
    mistakes: ['an event that comes twice is stored twice, or fails'],
  },
  {
    says: 'A sign-in, or a change to a person or a conversation, has its events exactly if it is committed, whatever happens to the process, its disk or the event buffer',
    tests: [
      'test/faults/service-events.test.ts',
      'test/faults/full-disk.test.ts',
      'test/access/session.test.ts',
      'test/usage/outbox.test.ts',
    ],
    mistakes: [
      'an event leaves the outbox before it is stored',
      'an event of the outbox is stored without the lock of its stripe',
      'a sign-in causes no event',
    ],
  },
  {
    says: 'Each model call that was answered is charged once, whatever is killed, also after a loss of power; while the event buffer fails models go on, and their records wait in memory',
    tests: [
      'test/faults/model-usage-crash.test.ts',
      'test/faults/power-cut.test.ts',
      'test/gateway/usage-records.test.ts',
    ],
    mistakes: [
      'an answer does not wait for its usage record',
      'usage records are forgotten when the buffer does not accept them',
    ],
  },
  {
    says: 'Unmodified CloudEvents SDKs (npm, PyPI, Go) work',
    tests: ['test/acceptance/metrics/sdks.test.ts', 'test/acceptance/metrics/ingestion.test.ts'],
    mistakes: ['the attributes of a binary event are not decoded'],
  },
  {
    says: 'Readers at the end of the events, and paging in both directions, see every event once while others write',
    tests: [
      'test/acceptance/metrics/retrieval.test.ts',
      'test/usage/paging.test.ts',
      'test/usage/retrieve.test.ts',
    ],
    mistakes: ['the last page is read before what is being stored is there'],
  },
  {
    says: 'A failover of Postgres to its synchronous standby loses nothing that was acknowledged, and costs answers of 503 at worst',
    tests: ['test/faults/failover.test.ts', 'test/postgres/primary.test.ts'],
    mistakes: ['a standby is taken for the primary'],
  },
  {
    says: 'Both event buffers give the same guarantees: the journal, and JetStream on one server and on three, of which any one may fail',
    tests: [
      'test/usage/event-buffer.test.ts',
      'test/usage/jetstream.test.ts',
      'test/usage/jetstream-cluster.test.ts',
      'test/usage/pull.test.ts',
    ],
    mistakes: ['a pull of a cluster ends at a status that overtakes its messages'],
  },
  {
    says: 'Two databases never share a queue of usage events, and a full one refuses new events instead of dropping old ones',
    tests: ['test/usage/jetstream.test.ts'],
    mistakes: ['the stream of another database is used', 'a full stream drops its oldest events'],
  },
  {
    says: "Without a key only programs on the same machine can call models; a proxy, another site's page or another workspace cannot",
    tests: ['test/acceptance/gateway/anonymous.test.ts'],
    mistakes: ['what a proxy hands on is taken for this machine’s own'],
  },
  {
    says: 'Unmodified OpenAI SDKs (npm, PyPI) work: every route, streams, tools, every class of error',
    tests: ['test/gateway/sdk-conformance'],
    mistakes: ['what is not there is told as a malformed request'],
  },
  {
    says: 'Every fault of an upstream, streaming or not, with or without a fallback, is reported to the caller truthfully; no attempt is repeated after the first byte was sent',
    tests: ['test/gateway/faults.test.ts'],
    mistakes: ['a stream that breaks off ends as if it were whole'],
  },
  {
    says: '`local-echo` honours the options that clients of real models rely on, or refuses them by name; no input makes it expensive',
    tests: ['test/gateway/sdk-conformance/local-echo.test.ts', 'test/acceptance/gateway/echo-load.test.ts'],
    mistakes: ['a limit of tokens is not honoured by local-echo'],
  },
  {
    says: 'A disconnected caller cancels the upstream request within 100 ms, before its headers and during a stream',
    tests: ['test/gateway/faults.test.ts'],
    mistakes: ['a caller that leaves does not cancel the upstream'],
  },
  {
    says: 'The called model is that of the outer member `model`, whatever other members of that name the body contains',
    tests: ['test/acceptance/gateway/right-model.test.ts'],
    mistakes: ["an upstream is sent the caller's name of the model"],
  },
  {
    says: 'Limits of keys hold for any number of concurrent requests, including streams and conversations: one request may overdraw, and across processes the requests of a quarter of a second (twice that if the database is slow)',
    tests: [
      'test/acceptance/gateway/limits-at-once.test.ts',
      'test/gateway/allowances.test.ts',
      'test/gateway/reservations.test.ts',
      'test/gateway/shared-limits.test.ts',
    ],
    mistakes: ['what requests that run have reserved is forgotten'],
  },
  {
    says: 'An idle process reads the spending of the others before it admits a request; usage reported twice counts once, reservations of a crashed process expire after ten seconds, and its spending is restored from the usage records. Without the database a limited key gets 503',
    tests: ['test/gateway/shared-limits.test.ts', 'test/faults/idle-budget.test.ts'],
    mistakes: [
      'an idle process admits by what it knew',
      'counters that are sent again count again',
      'leases of processes that died are ignored',
      'what a process that died had not told is not looked up in the usage records',
      'where it cannot be looked up what was spent, it is taken for nothing',
    ],
  },
  {
    says: 'Limits and accounts of keys count the actual usage, also across processes and SIGKILL',
    tests: [
      'test/acceptance/gateway/limits.test.ts',
      'test/acceptance/gateway/accounting.test.ts',
      'test/faults/model-usage-crash.test.ts',
    ],
    mistakes: ['the usage that an upstream tells in its stream is not counted'],
  },
  {
    says: 'Reloading the models interrupts no stream; a file with a mistake changes nothing',
    tests: ['test/acceptance/gateway/reload.test.ts'],
    mistakes: ['a models file with a mistake takes the models away'],
  },
  {
    says: 'A message is one user row, one answer and one set of events, however often it is sent and whichever process is killed',
    tests: ['test/faults/chat-crash.test.ts', 'test/chat/'],
    mistakes: ['a message that is sent again is a new one'],
  },
  {
    says: "Only the key's owner and administrators can access a conversation; citations are shown only to readers who may see the documents now",
    tests: ['test/acceptance/chat/ownership.test.ts', 'test/acceptance/chat/citations.test.ts'],
    mistakes: ['every key can access every conversation'],
  },
  {
    says: 'An answer cites the passages that it used, with page and quote, and no others; a document can neither give orders nor cite itself',
    tests: [
      'test/acceptance/chat/citations.test.ts',
      'test/chat/citing.test.ts',
      'test/chat/prompt.test.ts',
      'test/chat/knowledge.test.ts',
    ],
    mistakes: [
      'a number that no passage has is cited',
      'an answer that repeats the question cites what was found for it',
      'a document can write numbers of citations',
      'a question that goes on is searched for by itself',
    ],
  },
  {
    says: 'Knowledge that fails or is late costs the citations, not the answer; each answer of an agent that answers from documents alone cites something or says that it finds nothing',
    tests: ['test/chat/knowledge.test.ts', 'test/chat/slow-knowledge.test.ts', 'test/chat/citing.test.ts'],
    mistakes: [
      'an answer waits for a search as long as that takes',
      'an answer without support passes for one from the documents',
    ],
  },
  {
    says: "A session's messages are answered in order of arrival, across processes",
    tests: ['test/chat/', 'test/acceptance/chat/conversations.test.ts'],
    mistakes: ['a question does not wait for those before it'],
  },
  {
    says: 'Each call causes its events, with their exact fields, and no others',
    tests: ['test/acceptance/chat/events.test.ts'],
    mistakes: ['another persona of a session is told as a new chat'],
  },
  {
    says: 'An answer that is being made is stopped in whatever process makes it, by whoever reaches its conversation, and by nobody else',
    tests: ['test/chat/stop.test.ts'],
    mistakes: ['anybody stops the answers of others'],
  },
  {
    says: 'An answer of a model has text; one without has failed, with the reason',
    tests: ['test/acceptance/chat/answers-without-text.test.ts'],
    mistakes: ['an answer without text is an answer'],
  },
  {
    says: 'Bots accept only events with a valid platform token or key, and answer each event once',
    tests: ['test/acceptance/bots/verification.test.ts', 'test/acceptance/bots/processes.test.ts'],
    mistakes: ['a bot believes tokens of every issuer', 'a bot believes tokens for another audience'],
  },
  {
    says: 'An event of a chat app gets only answers, and joins only conversations, of its verified sender, whatever names it contains',
    tests: ['test/acceptance/bots/senders.test.ts'],
    mistakes: ['an event with a key joins the conversation that it names'],
  },
  {
    says: 'The key set of a bot that an administrator configured is fetched only from public addresses, even if its name resolves differently later',
    tests: ['test/bots/fetch-key-set.test.ts', 'test/acceptance/bots/registration.test.ts'],
    mistakes: ['private addresses are taken for public ones'],
  },
  {
    says: 'A chat app is answered in the format of its events, classic or add-on, also when an event is repeated',
    tests: ['test/acceptance/bots/add-on.test.ts'],
    mistakes: ['add-ons are answered in the classic format'],
  },
  {
    says: 'Long computations delay no other request, and end when their client disconnects or at the shutdown time-out',
    tests: ['test/acceptance/compute.test.ts', 'test/compute/pool.test.ts'],
    mistakes: ['long computations hold up short ones'],
  },
  {
    says: 'The kernels equal independent references to the last bit, for any text, in fixed memory',
    tests: ['test/compute/kernels.test.ts'],
    mistakes: ['a kernel forgets the last term of a sum'],
  },
  {
    says: 'Bad input is a 422 that names every mistake, never a 500',
    tests: ['test/acceptance/validation.test.ts', 'test/acceptance/garbage.test.ts'],
    mistakes: ['of several mistakes only the first is named'],
  },
  {
    says: 'The sweeper deletes no object that belongs to another database, and none while the database is older than the bucket',
    tests: [
      'test/documents/sweep.test.ts',
      'test/documents/custody.test.ts',
      'test/faults/older-database.test.ts',
    ],
    mistakes: ['an older database sweeps the bucket', 'a bucket with the marks of two databases is swept'],
  },
  {
    says: 'After SIGTERM running requests finish, or end with an error at the time-out; a second service on the same folder or port is refused',
    tests: [
      'test/service/ending.test.ts',
      'test/acceptance/shutdown.test.ts',
      'test/acceptance/start.test.ts',
    ],
    mistakes: ['a stream that the end of the service cuts does not say so'],
  },
  {
    says: 'A process that hangs is replaced, and another one takes over its exclusive jobs',
    tests: [
      'test/acceptance/processes.test.ts',
      'test/postgres/exclusive.test.ts',
      'test/usage/sink.test.ts',
    ],
    mistakes: ['a process that goes on after it hung takes another step under a lock that it has lost'],
  },
  {
    says: "The portal's session is of no use to pages of other sites and ports, and opens only the workspace of its key",
    tests: ['test/console/serving.test.ts', 'test/access/session.test.ts'],
    mistakes: [
      'the calls of the portal take a key in the place of its cookie',
      'a page of another port of the same host uses the session of the portal',
      'a one-time link signs in as often as it is opened',
    ],
  },
  {
    says: 'Single sign-on opens the portal to the person whom the provider names, with the rights that it names, and to nobody else',
    tests: [
      'test/access/sign-on.test.ts',
      'test/access/sign-on-refusals.test.ts',
      'test/access/sign-on-mistakes.test.ts',
    ],
    mistakes: [
      'a callback opens a session in a browser that has not left for the provider',
      'the signature of an ID token is not verified',
      'a right that the provider takes away stays until the session ends',
      'the next owner of an e-mail address becomes the person who had it before',
      'an e-mail address counts that the provider has not verified',
      'a person who is barred enters again after a sign-in without rights',
    ],
  },
  {
    says: '`/docs` works in a browser without internet: one key, pasted once, runs operations of every area',
    tests: ['test/browser/docs.test.ts'],
    mistakes: ['the key of the page is sent by one scheme alone'],
  },
  {
    says: 'Pages of allowed origins can upload directly to the store',
    tests: ['test/browser/browser.test.ts'],
    mistakes: ['the embedded store lets no origin read its answers'],
  },
  {
    says: 'The embedded store never serves a partial file',
    tests: ['test/object-store/'],
    mistakes: [
      'what is left of an upload that was cut off stays',
      'files of a deletion that a crash cut off stay',
    ],
  },
  {
    says: 'The embedded store removes a file only where its catalogue has recorded that no object names it: an older catalogue, or one that is missing, loses none',
    tests: ['test/object-store/copies.test.ts', 'test/object-store/durability.test.ts'],
    mistakes: ['a start removes what its catalogue does not name'],
  },
  {
    says: 'The same suite passes on the embedded store, MinIO and Versity',
    tests: ['test/acceptance/documents.test.ts', 'test/documents/reused-form.test.ts'],
    mistakes: ['a copy does not look whether its source is still the same'],
  },
  {
    says: '`/docs` describes every answer that the service gives',
    tests: ['test/acceptance/openapi.test.ts', 'test/acceptance/permissions.test.ts'],
    mistakes: ['the document leaves out answers of 404'],
  },
  {
    says: 'Each administrative change and each purge has its row in the audit log, in the transaction of the change and without secrets, and an administrator sees those of their own workspace alone',
    tests: [
      'test/access/audit-changes.test.ts',
      'test/access/audit.test.ts',
      'test/access/audit-retention.test.ts',
    ],
    mistakes: [
      'a key is revoked without a row of the audit log',
      'the row of the audit log is written after the change, in another transaction',
      'the hash of a key stands in the audit log',
      'the audit log shows rows of other workspaces',
    ],
  },
  {
    says: 'What a key reads to be left of its limits is what the next call of a model finds, reservations included; it sees no other key’s use',
    tests: ['test/acceptance/me.test.ts'],
    mistakes: ['what is left of a budget ignores requests under way', 'a key sees what other keys used'],
  },
];
