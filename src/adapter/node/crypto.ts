import nodeCrypto from 'node:crypto';

/**
 * SHA-256 at once, without the detour over a promise that Web Crypto takes. Not imported by its name, which older Nodes
 * do not know: they would fail on it before they can be told that they are too old.
 */
export const nodeDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'base64url');
