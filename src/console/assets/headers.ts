import type { Handler } from '../../core/http/handler.ts';

/** What the page may load: its own script and style, and the API of its origin. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** What every other answer may load if a browser shows it: nothing. */
const NOTHING_POLICY = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const PERMISSIONS = [
  'accelerometer',
  'camera',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'payment',
  'usb',
]
  .map((name) => `${name}=()`)
  .join(', ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': NOTHING_POLICY,
  'permissions-policy': PERMISSIONS,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Adds the headers that keep a browser safe to every answer that has not set its own. */
export const withSecurityHeaders =
  (handler: Handler): Handler =>
  async (request) => {
    const response = await handler(request);
    for (const [name, value] of Object.entries(HEADERS))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return response;
  };
