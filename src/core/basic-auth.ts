import { isSameSecret } from './http/auth.ts';

export type Credentials = { readonly username: string; readonly password: string };

/** What is decoded at most: longer credentials are nobody's. */
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
export const hasCredentials = (request: Request, { username, password }: Credentials): boolean => {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (encoded === undefined || encoded.length > LIMIT_CHARS) return false;
  const offered = decoded(encoded);
  return offered !== undefined && isSameSecret(offered, `${username}:${password}`);
};
