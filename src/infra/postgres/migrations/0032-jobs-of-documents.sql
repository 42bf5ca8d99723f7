-- Which jobs there are for a document: what catches up queues no document that is queued.
CREATE INDEX jobs_of_documents ON jobs ((payload ->> 'document'), kind) WHERE payload ->> 'document' IS NOT NULL;
