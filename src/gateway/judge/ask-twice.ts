import { Fault } from '../../core/fault.ts';
import type { BackendKey } from '../../llm/key-state.ts';
import type { GatewayFault } from '../errors.ts';
import type { JudgeReply } from './call.ts';

/** What differs in the second call: it avoids a key, and is a repair, or the same under a prefix that no cache holds. */
export type SecondCall = { readonly avoid: BackendKey; readonly kind: 'repair' | 'uncached' };

type WithoutVerdict = Exclude<JudgeReply, { readonly kind: 'content' }>;
/** What a judge was asked for, or why there is none. */
export type Asked<T> = { readonly kind: 'verdict'; readonly verdict: T } | WithoutVerdict;

const faultOf = ({ kind, reason, isFinal = false }: WithoutVerdict) =>
  new Fault<GatewayFault>(
    kind === 'rejected'
      ? { kind: 'backend-error', reason, isFinal, isRejected: true }
      : { kind: 'backend-unusable', reason },
  );

/**
 * Asks a judge, and once more where the first answer holds no verdict and that may help. Throws a `Fault` where none does. `onFailed`
 * is called for each answer without a verdict.
 */
export const askTwice = async <T>(
  ask: (second?: SecondCall) => Promise<Asked<T>>,
  onFailed: (reason: string) => void,
): Promise<T> => {
  const first = await ask();
  if (first.kind === 'verdict') return first.verdict;
  onFailed(first.reason);
  if (first.isFinal === true) throw faultOf(first);
  // Ollama 0.30.0 counts only what its cache does not hold, and holds the policy. No cache holds a prompt that begins differently.
  const second = await ask({ avoid: first.key, kind: first.isUnread === true ? 'uncached' : 'repair' });
  if (second.kind === 'verdict') return second.verdict;
  onFailed(second.reason);
  throw faultOf(second);
};
