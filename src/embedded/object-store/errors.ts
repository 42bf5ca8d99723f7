// The errors of the S3 protocol that this store answers.
import { diskFaultOf } from '../../core/disk-fault.ts';

const ERRORS = {
  AccessDenied: [403, 'Access Denied'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'The query string parameters of the signature are not valid.'],
  BadDigest: [400, 'A digest you specified did not match what was received.'],
  EntityTooLarge: [400, 'Your proposed upload exceeds the maximum allowed size'],
  EntityTooSmall: [400, 'Your proposed upload is smaller than the minimum allowed size'],
  IncompleteBody: [400, 'You did not provide the number of bytes specified by the Content-Length header.'],
  InternalError: [500, 'We encountered an internal error. Please try again.'],
  InvalidAccessKeyId: [403, 'The AWS Access Key Id you provided does not exist in our records.'],
  InvalidArgument: [400, 'Invalid Argument'],
  InvalidDigest: [400, 'The Content-MD5 you specified is not valid.'],
  InvalidPolicyDocument: [400, 'Invalid Policy: Invalid JSON.'],
  InvalidRange: [416, 'The requested range is not satisfiable'],
  InvalidRequest: [400, 'Invalid Request'],
  InvalidURI: [400, "Couldn't parse the specified URI."],
  KeyTooLongError: [400, 'Your key is too long'],
  MalformedPOSTRequest: [400, 'The body of your POST request is not well-formed multipart/form-data.'],
  MalformedXML: [400, 'The XML you provided was not well-formed or did not validate.'],
  MaxMessageLengthExceeded: [400, 'Your request was too large.'],
  MaxPostPreDataLengthExceeded: [400, 'Your POST request fields preceding the upload file were too large.'],
  MissingContentLength: [411, 'You must provide the Content-Length HTTP header.'],
  NoSuchBucket: [404, 'The specified bucket does not exist'],
  NoSuchKey: [404, 'The specified key does not exist.'],
  NotImplemented: [501, 'Not implemented'],
  PreconditionFailed: [412, 'At least one of the pre-conditions you specified did not hold'],
  RequestTimeout: [400, 'Your socket connection was not read from or written to within the timeout period.'],
  RequestTimeTooSkewed: [403, "The difference between the request time and the server's time is too large."],
  ServiceUnavailable: [503, 'The disk of the object store does not work at the moment.'],
  SignatureDoesNotMatch: [403, 'The request signature we calculated does not match the one you provided.'],
  SlowDown: [503, 'Please reduce your request rate.'],
  StorageFull: [507, 'The disk of the object store is full.'],
  XAmzContentSHA256Mismatch: [400, "The 'x-amz-content-sha256' header does not match what was computed."],
} as const satisfies Record<string, readonly [number, string]>;

type About = {
  /** In place of the code's usual sentence. */
  message?: string;
  /** Further elements of the error document. */
  details?: Record<string, string>;
  headers?: Record<string, string>;
};

/** An answer that S3 has a code for. Its message is public: it never holds a key or a signature. */
export class S3Error extends Error {
  readonly code: keyof typeof ERRORS;
  readonly status: number;
  readonly details: Record<string, string>;
  readonly headers: Record<string, string>;

  constructor(code: keyof typeof ERRORS, about: string | About = {}) {
    const { message, details = {}, headers = {} } = typeof about === 'string' ? { message: about } : about;
    super(message ?? ERRORS[code][1]);
    this.name = 'S3Error';
    this.code = code;
    this.status = ERRORS[code][0];
    this.details = details;
    this.headers = headers;
  }
}

/** The refusal of an operation, an option or a header by its name. */
export const notImplemented = (name: string): S3Error =>
  new S3Error('NotImplemented', `The embedded object store does not implement: ${name}`);

/** The client disconnected before its request was complete, so no answer can be sent. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}

/** The client's error: an S3 error as it is, the disk's state by name, all others as InternalError. */
export function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  const fault = diskFaultOf(error);
  if (fault === undefined) return new S3Error('InternalError');
  if (fault === 'is full') return new S3Error('StorageFull');
  return new S3Error('ServiceUnavailable', { headers: { 'retry-after': '2' } });
}
