import nodeCrypto from 'node:crypto';
import type { DeriveKey } from '../accounts/password-hash.ts';

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
