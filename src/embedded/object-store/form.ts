// Reads an upload form (multipart/form-data): fields into memory within a bound, the file as a stream.

import type { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { diskFaultOf } from '../../core/disk-fault.ts';
import { toError } from '../../core/errors.ts';
import { ClientGone, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';

/** The fields before the file, by lower-case name. */
export type FormFields = ReadonlyMap<string, string>;

/**
 * Calls `receive` when the file begins, and answers its result; `formEnd` resolves at the end of the whole form: until then the
 * upload may still be cut off. Fields behind the file are ignored, as are further files. When receive rejects, or the form is cut
 * off, the content is destroyed and nothing more is read. Throws MalformedPOSTRequest, MaxPostPreDataLengthExceeded,
 * InvalidArgument, ClientGone, and RequestTimeout where the fields do not arrive in time.
 */
export async function readPostForm<Result>(
  request: StoreRequest,
  receive: (fields: FormFields, content: Readable, formEnd: Promise<void>) => Promise<Result>,
): Promise<Result> {
  const parser = createParser(request.headers.get('content-type') ?? '');
  const end = Promise.withResolvers<void>();
  end.promise.catch(() => undefined);
  const fields = collectFields(parser);
  let upload: Promise<Result> | undefined;
  let file: Readable | undefined;
  let headBytes = 0;
  const timer = setTimeout(() => parser.destroy(new S3Error('RequestTimeout')), limits.formFieldsMsMax);
  parser.on('file', (_name, content) => {
    content.on('error', () => undefined); // Its reader gets the error; there may be none yet.
    clearTimeout(timer);
    file = content;
    upload = receive(fields.close(), content, end.promise);
    upload.catch((error: unknown) => parser.destroy(toError(error)));
  });
  async function* boundedBody(): AsyncGenerator<Buffer> {
    for await (const chunk of request.body()) {
      // The last chunk itself may hold the beginning of the file.
      if (file === undefined && headBytes > limits.formHeadBytesMax)
        throw new S3Error('MaxPostPreDataLengthExceeded');
      headBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    // The parser may refuse the form while the client sends nothing.
    pipeline(boundedBody(), parser).catch(() => undefined);
    await finished(parser, { readable: false });
    end.resolve();
  } catch (cause) {
    const error = isOurs(cause) ? toError(cause) : new S3Error('MalformedPOSTRequest');
    end.reject(error);
    file?.destroy(error);
    await upload?.catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  if (upload === undefined)
    throw new S3Error('InvalidArgument', 'POST requires exactly one file upload per request.');
  return upload;
}

function createParser(contentType: string): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw new S3Error('PreconditionFailed', 'Bucket POST must be of the enclosure-type multipart/form-data');
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (name) => name?.toLowerCase() === 'file',
      highWaterMark: limits.bufferBytes,
      fileHwm: limits.bufferBytes,
      limits: { files: 1, fieldSize: limits.formFieldsBytesMax, headerSize: limits.formFieldsBytesMax },
    });
  } catch {
    throw new S3Error('MalformedPOSTRequest');
  }
}

/** Takes fields until it is closed; breaks the parser off where they are too many, too large, or repeated. */
function collectFields(parser: BusboyInstance) {
  const values = new Map<string, string>();
  let sizeBytes = 0;
  let isClosed = false;
  /** The parser still processes its buffered input. */
  const refuse = (error: S3Error): void => {
    isClosed = true;
    parser.destroy(error);
  };
  parser.on('field', (name: string | undefined, value, _nameTruncated, valueTruncated) => {
    if (isClosed || name === undefined) return;
    sizeBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    const key = name.toLowerCase();
    if (valueTruncated || sizeBytes > limits.formFieldsBytesMax || values.size >= limits.formFieldsMax)
      refuse(new S3Error('MaxPostPreDataLengthExceeded'));
    else if (values.has(key))
      refuse(new S3Error('InvalidArgument', `The form field ${key} may be given only once.`));
    else values.set(key, value);
  });
  return {
    close: (): FormFields => {
      isClosed = true;
      return values;
    },
  };
}

/** Errors with an S3 answer of their own, and errors of the disk; all others come from the parser. */
function isOurs(error: unknown): boolean {
  const isOfDisk = diskFaultOf(error) !== undefined || (error instanceof Error && 'syscall' in error);
  return isOfDisk || error instanceof S3Error || error instanceof ClientGone;
}
