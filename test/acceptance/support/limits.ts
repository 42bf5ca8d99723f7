/** The largest file of the service under test; small, so that a larger one is quickly made. */
export const UPLOAD_BYTES_MAX = 1_048_576;

export const EXPIRES_IN_DEFAULT = 3600;
export const EXPIRES_IN_MAX = 7 * 24 * 3600;
