// The operations on a bucket: create, head, list, delete many objects.

import { DISK_FAULT_HEADER } from '../../core/disk-fault.ts';
import type { Signer } from '../../infra/s3/signature-v4.ts';
import type { Authentication } from './authentication.ts';
import { parseDeleteDocument } from './delete-document.ts';
import { readDocument } from './document-body.ts';
import { S3Error } from './errors.ts';
import { parseListQuery, renderListing } from './listing.ts';
import type { Objects } from './objects.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';
import { element, renderDocument, S3_NAMESPACE } from './xml.ts';

/** Each takes a request whose signature holds, whose bucket is a valid name, and whose options it takes. */
export function createBucketOperations(parts: { objects: Objects; signer: Signer; region: string }) {
  const { objects, signer, region } = parts;
  return {
    /** Creating it again is no error. */
    create: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      await readDocument(request, authentication, signer);
      await objects.createBucket(request.bucket);
      return { status: 200, headers: { location: `/${request.bucket}` } };
    },

    head: async (request: StoreRequest): Promise<Reply> => {
      objects.assertBucket(request.bucket);
      const fault = await objects.diskFault();
      const disk = fault === undefined ? {} : { [DISK_FAULT_HEADER]: fault };
      return { status: 200, headers: { 'x-amz-bucket-region': region, ...disk } };
    },

    list: (request: StoreRequest): Reply => {
      const query = parseListQuery(request);
      const page = objects.list(request.bucket, query);
      return { status: 200, document: renderListing(request, query, page) };
    },

    remove: async (request: StoreRequest, authentication: Authentication): Promise<Reply> => {
      objects.assertBucket(request.bucket);
      const { removals, isQuiet } = parseDeleteDocument(await readDocument(request, authentication, signer));
      const refused = new Set(await objects.remove(request.bucket, removals));
      const entries = removals.flatMap(({ key, version }) => {
        if (refused.has(key)) return [renderRefusal(key)];
        const names = version === undefined ? [] : [element('VersionId', version)];
        return isQuiet ? [] : [element('Deleted', [element('Key', key), ...names])];
      });
      return { status: 200, document: renderDocument('DeleteResult', entries, S3_NAMESPACE) };
    },
  };
}

function renderRefusal(key: string) {
  const { code, message } = new S3Error('PreconditionFailed');
  return element('Error', [element('Key', key), element('Code', code), element('Message', message)]);
}
