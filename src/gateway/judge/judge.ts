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

type JudgeAnswer =
  | { readonly kind: 'scores'; readonly scores: CategoryScores }
  | Exclude<JudgeReply, { readonly kind: 'content' }>;

/** What differs in the second call: it avoids a key, and is a repair, or the same under a prefix that no cache holds. */
type SecondCall = { readonly avoid: BackendKey; readonly kind: 'repair' | 'uncached' };

const faultOf = ({ kind, reason, isFinal = false }: Exclude<JudgeAnswer, { readonly kind: 'scores' }>) =>
  new Fault<GatewayFault>(
    kind === 'rejected' ? { kind: 'backend-error', reason, isFinal } : { kind: 'backend-unusable', reason },
  );

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

  const askJudge = async (
    excerpt: Excerpt,
    alias: ModelAlias,
    deadline: Deadline,
    secondCall?: SecondCall,
  ): Promise<JudgeAnswer> => {
    const nonce = nonceFor(excerpt.text);
    const reply = await callJudge(callFor(excerpt, alias, nonce, secondCall), deadline, secondCall?.avoid);
    if (reply.kind !== 'content') return reply;
    const verdict = parseVerdict(reply.content, nonce);
    return verdict.kind === 'scores' ? verdict : { ...verdict, key: reply.key };
  };

  return async (excerpt, alias, deadline) => {
    const first = await askJudge(excerpt, alias, deadline);
    if (first.kind === 'scores') return first.scores;
    onUnusable(alias.model, first.reason);
    if (first.isFinal === true) throw faultOf(first);
    // Ollama 0.30.0 counts only what its cache does not hold, and holds the policy. No cache holds what begins anew.
    const kind = first.isUnread === true ? 'uncached' : 'repair';
    const second = await askJudge(excerpt, alias, deadline, { avoid: first.key, kind });
    if (second.kind === 'scores') return second.scores;
    onUnusable(alias.model, second.reason);
    throw faultOf(second);
  };
};
