import { Fault } from '../../core/fault.ts';
import { matchingKeyIndex } from '../../core/http/auth.ts';
import type { TextDigest } from '../judge/types.ts';
import type { RateLimit } from './rate-limit.ts';

/** Who sends a request: the index of its gateway key, and the key's digest. */
export type GatewayCaller = { readonly keyIndex: number; readonly owner: string };

/** Finds out who sends a request, and how often they may. */
export type Callers = {
  /** Throws `unauthorized` unless the request presents a gateway key. */
  readonly identify: (request: Request) => Promise<GatewayCaller>;
  /** Counts a request. Throws `rate-limited` when it is one too many. */
  readonly count: (caller: GatewayCaller) => Promise<void>;
};

/** Throws `unauthorized` unless the request presents a gateway key. Returns the key's index in the list. */
export const requireGatewayKey = (request: Request, gatewayKeys: readonly string[]): number => {
  const index = matchingKeyIndex(request, gatewayKeys);
  if (index === -1) throw new Fault({ kind: 'unauthorized' });
  return index;
};

/** Creates the check of gateway keys and their rate limit, one for all routes. */
export const createCallers = (gatewayKeys: readonly string[], digest: TextDigest, rateLimit: RateLimit): Callers => {
  // Replicas may list their keys in another order, so an index would not identify a key in a shared count.
  const keyIds = gatewayKeys.map((key) => digest(key));
  return {
    async identify(request) {
      const keyIndex = requireGatewayKey(request, gatewayKeys);
      return { keyIndex, owner: (await keyIds[keyIndex]) ?? '' };
    },
    async count({ owner }) {
      const retryAfterMs = await rateLimit(owner);
      if (retryAfterMs > 0) throw new Fault({ kind: 'rate-limited', retryAfterMs });
    },
  };
};
