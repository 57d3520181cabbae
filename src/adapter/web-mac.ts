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
