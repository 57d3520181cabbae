import type { BackendKey } from '../llm/key-state.ts';

const NONCE_DIGITS = 12n;
/** Each call for random bits is expensive, so they are drawn in bulk. */
const NONCES_AT_ONCE = 512;

/** A UUID of 122 random bits. All supported runtimes have Web Crypto. */
export const newId = (): string => crypto.randomUUID();

const nonceBits = new BigUint64Array(NONCES_AT_ONCE);
let usedNonces = NONCES_AT_ONCE;

/** Twelve digits: models copy digits faithfully, and tokenizers pack three of them into a token. */
export const newNonce = (): string => {
  if (usedNonces === NONCES_AT_ONCE) {
    crypto.getRandomValues(nonceBits);
    usedNonces = 0;
  }
  const bits = nonceBits[usedNonces] ?? 0n;
  nonceBits[usedNonces] = 0n;
  usedNonces += 1;
  return String(bits % 10n ** NONCE_DIGITS).padStart(Number(NONCE_DIGITS), '0');
};

const BYTES_AT_ONCE = 4096;
let bytes = new Uint8Array();
let usedBytes = 0;

/** The given number of random bytes, drawn in bulk too. None is returned twice. */
export const randomBytes = (count: number): Uint8Array => {
  if (usedBytes + count > bytes.length) {
    bytes = crypto.getRandomValues(new Uint8Array(Math.max(BYTES_AT_ONCE, count)));
    usedBytes = 0;
  }
  usedBytes += count;
  return bytes.subarray(usedBytes - count, usedBytes);
};

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** SHA-256 in hexadecimal. Slower than a runtime's own hash, but available everywhere. */
export const webDigest = async (text: string): Promise<string> =>
  toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));

const FINGERPRINT_CHARS = 8;

/** What logs and metrics show of a key: enough to distinguish keys, too little to guess one. */
const createFingerprint = async (secret: string): Promise<string> =>
  secret === '' ? 'none' : (await webDigest(secret)).slice(0, FINGERPRINT_CHARS);

/** The keys of a pool, from their secrets. A backend without keys gets one key with an empty secret. */
export const createBackendKeys = (secrets: readonly string[]): Promise<BackendKey[]> =>
  Promise.all(
    (secrets.length === 0 ? [''] : secrets).map(async (secret) => ({
      secret,
      fingerprint: await createFingerprint(secret),
    })),
  );

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** HMAC with SHA-256 in base64url, 43 characters. */
export const webMac = async (secret: string, text: string): Promise<string> => {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text))));
};
