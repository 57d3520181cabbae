import { hash } from 'node:crypto';

/** SHA-256 at once, without the detour over a promise that Web Crypto takes. */
export const nodeDigest = (text: string): string => hash('sha256', text, 'base64url');
