/** Longer tokens than this are refused unread, so that comparing costs a bounded amount of work. */
const TOKEN_LIMIT_CHARS = 512;

/** Whether a secret was offered. Takes time that depends only on what was offered, so response times show nothing of the key. */
export const equalSecrets = (offered: string, key: string): boolean => {
  let difference = offered.length ^ key.length;
  for (let index = 0; index < offered.length; index++) {
    difference |= offered.charCodeAt(index) ^ key.charCodeAt(index % key.length);
  }
  return difference === 0;
};

/** The token of an `Authorization: Bearer` header, or nothing when it is absent or malformed (RFC 6750). */
export const bearerToken = (request: Request): string | undefined => {
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  return token !== undefined && token.length <= TOKEN_LIMIT_CHARS ? token : undefined;
};

/** The index of the key that the request presents, or -1. Every key is compared, whichever fits. */
export const matchingKeyIndex = (request: Request, keys: readonly string[]): number => {
  const offered = bearerToken(request);
  if (offered === undefined) return -1;
  let found = -1;
  for (const [index, key] of keys.entries()) {
    if (equalSecrets(offered, key)) found = index;
  }
  return found;
};

export type Credentials = { readonly username: string; readonly password: string };

/** What is decoded at most: longer credentials cannot be right. */
const LIMIT_CHARS = 1024;

const decoded = (encoded: string): string | undefined => {
  try {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

/** Whether a request brings these credentials as Basic authentication (RFC 7617, UTF-8). */
export const hasBasicCredentials = (request: Request, { username, password }: Credentials): boolean => {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (encoded === undefined || encoded.length > LIMIT_CHARS) return false;
  const offered = decoded(encoded);
  return offered !== undefined && equalSecrets(offered, `${username}:${password}`);
};

/** The `Authorization` header that brings these credentials. */
export const basicAuthorization = ({ username, password }: Credentials): string => {
  const bytes = new TextEncoder().encode(`${username}:${password}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
};

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i;
const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Whether only this machine can reach a server that listens there. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** Whether a request was sent to this machine under one of its own names, and not under one that a web page has made lead here. */
export const isAddressedToLoopback = ({ headers }: Request): boolean => LOCAL_NAME.test(headers.get('host') ?? '');

/**
 * Whether a request comes from a program of this machine and not from a web page that a browser of this machine shows: such a
 * page can make its own name lead here, and send what needs no answer to read.
 */
export const isFromLocalProgram = (request: Request): boolean => {
  const origin = request.headers.get('origin');
  const isLocalOrigin = origin === null || LOCAL_NAME.test(origin.replace(/^https?:\/\//i, ''));
  return isLocalOrigin && isAddressedToLoopback(request);
};
