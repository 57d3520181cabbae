import type { Deadline } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { BackendKey } from '../../llm/key-state.ts';
import type { ChatCall } from '../../llm/types.ts';
import type { GatewayFault } from '../errors.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { CallJudge, JudgeReply } from './call.ts';
import { type Excerpt, type JudgePrompts, OUTPUT_TOKENS } from './prompt.ts';
import type { VerdictParser } from './verdict.ts';

type JudgeNeeds = {
  readonly callJudge: CallJudge;
  readonly prompts: JudgePrompts;
  readonly parseVerdict: VerdictParser['parse'];
  /** The context that a local server gives the model, and how long it holds it. */
  readonly memory: Pick<ChatCall, 'contextTokens' | 'keepAlive'>;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly onUnusable: (model: string, reason: string) => void;
};

/** Judges one excerpt: resolves with all scores or throws a `Fault`. */
export type Judge = (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<CategoryScores>;

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
  // Ollama 0.30.0 counts only what its cache does not hold, and holds the policy. No cache holds what begins anew.
  const second = await ask({ avoid: first.key, kind: first.isUnread === true ? 'uncached' : 'repair' });
  if (second.kind === 'verdict') return second.verdict;
  onFailed(second.reason);
  throw faultOf(second);
};

/** Creates a judge that asks the backend once more when the first answer holds no usable verdict, if that may help. */
export const createJudge = (needs: JudgeNeeds): Judge => {
  const { callJudge, onUnusable, prompts, parseVerdict } = needs;

  const nonceFor = (text: string): string => {
    const nonce = needs.newNonce();
    return text.includes(nonce) ? nonceFor(text) : nonce;
  };

  const callFor = (excerpt: Excerpt, { model, think }: ModelAlias, nonce: string, second?: SecondCall): ChatCall => ({
    model,
    system: second?.kind === 'uncached' ? `Call ${nonce}.\n\n${prompts.system}` : prompts.system,
    user: prompts.user(excerpt, nonce, second?.kind === 'repair'),
    ...needs.memory,
    outputTokens: OUTPUT_TOKENS,
    ...(excerpt.image === undefined ? {} : { image: excerpt.image }),
    ...(think === undefined ? {} : { think }),
    // Some servers answer nothing, or nonsense, under a grammar: the repair call has none.
    ...(second?.kind === 'repair' ? {} : { schema: prompts.schema }),
  });

  return (excerpt, alias, deadline) =>
    askTwice(
      async (second): Promise<Asked<CategoryScores>> => {
        const nonce = nonceFor(excerpt.text);
        const reply = await callJudge(callFor(excerpt, alias, nonce, second), deadline, second?.avoid);
        if (reply.kind !== 'content') return reply;
        const verdict = parseVerdict(reply.content, nonce);
        return verdict.kind === 'scores'
          ? { kind: 'verdict', verdict: verdict.scores }
          : { ...verdict, key: reply.key };
      },
      (reason) => onUnusable(alias.model, reason),
    );
};
