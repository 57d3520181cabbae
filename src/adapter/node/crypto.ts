import nodeCrypto from 'node:crypto';

/**
 * SHA-256 in base64url, synchronous unlike Web Crypto. `hash` is not imported by name: older versions of Node lack it, and
 * would fail at the import before the error about their version.
 */
export const nodeDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'base64url');
