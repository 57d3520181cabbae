import nodeCrypto from 'node:crypto';

/**
 * SHA-256 in base64url, synchronous unlike Web Crypto. `hash` is not imported by name: older versions of Node lack it, and
 * would fail at the import before the error about their version.
 */
export const nodeDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'base64url');

/** The same in hexadecimal. */
export const nodeHexDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'hex');

/** The same in base64url, of a text that is given in parts. */
export const createNodeHash = () => {
  const hash = nodeCrypto.createHash('sha256');
  return { add: (text: string): void => void hash.update(text, 'utf8'), end: (): string => hash.digest('base64url') };
};
