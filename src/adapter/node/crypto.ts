import nodeCrypto from 'node:crypto';
import type { NewHash } from '../../bridge/digest.ts';
import type { DeriveKey } from '../../console/accounts/password-hash.ts';

/**
 * SHA-256 in base64url, synchronous unlike Web Crypto. `hash` is not imported by name: older versions of Node lack it, and
 * would fail at the import before the error about their version.
 */
export const nodeDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'base64url');

/** The same in hexadecimal. */
export const nodeHexDigest = (text: string): string => nodeCrypto.hash('sha256', text, 'hex');

/** The same in base64url, of a text that is given in parts. */
export const createNodeHash: NewHash = () => {
  const hash = nodeCrypto.createHash('sha256');
  return { add: (text) => void hash.update(text, 'utf8'), end: () => hash.digest('base64url') };
};

const KEY_BYTES = 32;

/** Derives keys in Node's thread pool, so that the event loop goes on meanwhile. */
export const deriveScryptKey: DeriveKey = (password, salt, { cost, blockSize, parallel }) =>
  new Promise((resolve, reject) => {
    // What RFC 7914 says it takes, and a little more: Node's own limit is less than the larger costs need.
    const maxmem = 128 * cost * blockSize + 128 * blockSize * parallel + 1024 * 1024;
    const options = { N: cost, r: blockSize, p: parallel, maxmem };
    nodeCrypto.scrypt(password, Buffer.from(salt, 'base64url'), KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key.toString('base64url'));
      else reject(error);
    });
  });
