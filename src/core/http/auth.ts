/** Longer tokens than this are refused unread, so that comparing costs a bounded amount of work. */
const TOKEN_LIMIT_CHARS = 512;

/** Whether a secret was offered. Takes time that depends only on what was offered, so answers tell nothing of the key. */
export const isSameSecret = (offered: string, key: string): boolean => {
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
export const keyIndexOf = (request: Request, keys: readonly string[]): number => {
  const offered = bearerToken(request);
  if (offered === undefined) return -1;
  let found = -1;
  for (const [index, key] of keys.entries()) {
    if (isSameSecret(offered, key)) found = index;
  }
  return found;
};
