import type { BackendKey } from '../../llm/key-pool.ts';

const NONCE_DIGITS = 12n;
/** Asking for random bits costs much more than using them, so they are asked for in bulk. */
const DRAWN_AT_ONCE = 512;

/** 122 random bits as a UUID. Every runtime of ours has Web Crypto. */
export const newId = (): string => crypto.randomUUID();

const drawn = new BigUint64Array(DRAWN_AT_ONCE);
let used = DRAWN_AT_ONCE;

/** Twelve digits: models copy digits faithfully, and tokenizers pack three of them into a token. */
export const newNonce = (): string => {
  if (used === DRAWN_AT_ONCE) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  const bits = drawn[used] ?? 0n;
  drawn[used] = 0n;
  used += 1;
  return String(bits % 10n ** NONCE_DIGITS).padStart(Number(NONCE_DIGITS), '0');
};

const BYTES_AT_ONCE = 4096;
let bytes = new Uint8Array();
let taken = 0;

/** So many random bytes, drawn in bulk as well. None is given twice. */
export const randomBytes = (count: number): Uint8Array => {
  if (taken + count > bytes.length) {
    bytes = crypto.getRandomValues(new Uint8Array(Math.max(BYTES_AT_ONCE, count)));
    taken = 0;
  }
  taken += count;
  return bytes.subarray(taken - count, taken);
};

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** SHA-256 in hexadecimal digits. Slower than a runtime's own hash, but there is one everywhere. */
export const webDigest = async (text: string): Promise<string> =>
  hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));

const FINGERPRINT_CHARS = 8;

/** What logs and metrics may show of a key: enough to tell keys apart, too little to be one. */
const fingerprintOf = async (secret: string): Promise<string> =>
  secret === '' ? 'none' : (await webDigest(secret)).slice(0, FINGERPRINT_CHARS);

/** Keys of a pool from their secrets. A backend that wants no key gets one place in the pool with an empty secret. */
export const backendKeys = (secrets: readonly string[]): Promise<BackendKey[]> =>
  Promise.all(
    (secrets.length === 0 ? [''] : secrets).map(async (secret) => ({
      secret,
      fingerprint: await fingerprintOf(secret),
    })),
  );

const base64UrlOf = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** HMAC with SHA-256 in base64url, 43 characters. */
export const webMac = async (secret: string, text: string): Promise<string> => {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  return base64UrlOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text))));
};
