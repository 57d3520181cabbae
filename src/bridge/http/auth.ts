import { Fault } from '../../core/fault.ts';
import { OWNER_WITHOUT_KEY, ownerOfKey } from '../../core/http/agent-api.ts';
import { isAddressedToLoopback, isFromLocalProgram, matchingKeyIndex } from '../../core/http/auth.ts';
import type { Handler } from '../../core/http/handler.ts';

type AuthenticationOptions = {
  readonly keys: readonly string[];
  /** Without keys only programs of this machine are allowed; if false, everyone is. */
  readonly isForThisMachine: boolean;
  readonly digest: (text: string) => string;
  /** Origins of web pages that are allowed. */
  readonly corsOrigins?: readonly string[];
};

const isAllowedOrigin = (origin: string | null, origins: readonly string[]): origin is string =>
  origin !== null && (origins.includes('*') || origins.includes(origin));

const NOT_LOCAL = new Fault({
  kind: 'bad-input',
  code: 'invalid_host',
  param: null,
  message: 'Without keys this bridge answers programs of this machine, under a name such as 127.0.0.1 or localhost',
});

/** Checks the key of a request and returns its owner. Each key has its own conversations. Faults with `unauthorized`. */
export const createAuthentication = ({
  keys,
  isForThisMachine,
  digest,
  corsOrigins = [],
}: AuthenticationOptions): ((request: Request) => string) => {
  const owners = keys.map((key) => ownerOfKey(key, digest));
  const isLocal = (request: Request): boolean =>
    isAllowedOrigin(request.headers.get('origin'), corsOrigins)
      ? isAddressedToLoopback(request)
      : isFromLocalProgram(request);
  return (request) => {
    if (keys.length === 0) {
      if (isForThisMachine && !isLocal(request)) throw NOT_LOCAL;
      return OWNER_WITHOUT_KEY;
    }
    const owner = owners[matchingKeyIndex(request, keys)];
    if (owner === undefined) throw new Fault({ kind: 'unauthorized' });
    return owner;
  };
};

const ALLOWED_HEADERS = 'authorization, content-type, idempotency-key, x-session-id, x-approval, x-request-id';
const EXPOSED_HEADERS = 'x-session-id, x-request-id, x-approval-id, x-gatehouse-ignored, x-should-retry, retry-after';

/** Allows web pages of the given origins (`*`: all). Without origins no header is added, and browsers block every page. */
export const withCors =
  (handler: Handler, origins: readonly string[]): Handler =>
  async (request) => {
    const origin = request.headers.get('origin');
    if (!isAllowedOrigin(origin, origins)) return handler(request);
    const isPreflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
    const response = isPreflight ? new Response(null, { status: 204 }) : await handler(request);
    const { headers } = response;
    headers.set('access-control-allow-origin', origins.includes('*') ? '*' : origin);
    headers.append('vary', 'origin');
    headers.set('access-control-expose-headers', EXPOSED_HEADERS);
    if (isPreflight) {
      headers.set('access-control-allow-methods', 'GET, POST, DELETE');
      // Official clients send headers of their own about their platform.
      headers.set(
        'access-control-allow-headers',
        request.headers.get('access-control-request-headers') ?? ALLOWED_HEADERS,
      );
      headers.set('access-control-max-age', '600');
    }
    return response;
  };
