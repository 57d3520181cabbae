import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { ChatAnswer, Upstream } from '../../llm/failover.ts';
import type { BackendKey } from '../../llm/key-state.ts';
import type { ChatCall } from '../../llm/types.ts';
import type { GatewayFault } from '../errors.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import { countWords, createUserPrompt, type Excerpt, OUTPUT_TOKENS, VERDICT_SCHEMA } from './prompt.ts';
import { parseVerdict } from './verdict.ts';

type JudgeNeeds = {
  readonly upstream: Upstream;
  readonly semaphore: Semaphore;
  readonly clock: Clock;
  readonly systemPrompt: string;
  readonly contextTokens: number;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  /** 0: no hedging. */
  readonly hedgeAfterMs: number;
  readonly onUnusable: (model: string, reason: string) => void;
  readonly onTokens: (model: string, tokens: { readonly prompt: number; readonly output: number }) => void;
};

/** Judges one excerpt: resolves with all scores or throws a `Fault`. */
export type Judge = (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<CategoryScores>;

type JudgeAnswer =
  | { readonly kind: 'scores'; readonly scores: CategoryScores }
  | {
      readonly kind: 'unusable' | 'rejected';
      readonly reason: string;
      readonly isFinal?: boolean;
      /** The server has counted too few tokens of the prompt. */
      readonly isUnread?: boolean;
      readonly key: BackendKey;
    };

/** What differs in the second call: it avoids a key, and is a repair, or the same under a prefix that no cache holds. */
type SecondCall = { readonly avoid: BackendKey; readonly kind: 'repair' | 'uncached' };

/**
 * The share of a prompt's words that a server must count as tokens. No tokenizer that models are served with makes one
 * token of two words (o200k: 1.6 tokens for a word of the policy); those of research that do save a third of the tokens. So no server that counts the whole prompt is refused, and one that dropped the system message is found as long as the
 * text is not several times longer than the policy. The policy's word finds it whatever the length.
 */
const MIN_TOKENS_PER_WORD = 0.75;

const faultOf = ({ kind, reason, isFinal = false }: Exclude<JudgeAnswer, { readonly kind: 'scores' }>) =>
  new Fault<GatewayFault>(
    kind === 'rejected' ? { kind: 'backend-error', reason, isFinal } : { kind: 'backend-unusable', reason },
  );

/** Creates a judge that asks the backend once more when the first answer holds no usable verdict, if that may help. */
export const createJudge = (needs: JudgeNeeds): Judge => {
  const { upstream, semaphore, clock, hedgeAfterMs, onUnusable, onTokens } = needs;

  const nonceFor = (text: string): string => {
    const nonce = needs.newNonce();
    return text.includes(nonce) ? nonceFor(text) : nonce;
  };

  const systemWords = countWords(needs.systemPrompt);

  const callFor = (excerpt: Excerpt, { model, think }: ModelAlias, nonce: string, second?: SecondCall): ChatCall => ({
    model,
    system: second?.kind === 'uncached' ? `Call ${nonce}.\n\n${needs.systemPrompt}` : needs.systemPrompt,
    user: createUserPrompt(excerpt, nonce, second?.kind === 'repair'),
    contextTokens: needs.contextTokens,
    outputTokens: OUTPUT_TOKENS,
    ...(excerpt.image === undefined ? {} : { image: excerpt.image }),
    ...(think === undefined ? {} : { think }),
    // Some servers answer nothing, or nonsense, under a grammar: the repair call has none.
    ...(second?.kind === 'repair' ? {} : { schema: VERDICT_SCHEMA }),
  });

  /**
   * Why the judge cannot have read the whole prompt, by the number of tokens that its server counts; undefined when it may
   * have. 0 is no count: some servers send none, and Ollama before 0.2 none for a prompt in its cache.
   */
  const unreadReason = (user: string, promptTokens: number): string | undefined => {
    const least = Math.floor((systemWords + countWords(user)) * MIN_TOKENS_PER_WORD);
    if (promptTokens === 0 || promptTokens >= least) return undefined;
    return `the server counts ${promptTokens} tokens of a prompt that has ${least} or more: the model's chat template drops the policy, or its context cuts the prompt`;
  };

  /** The second call of a hedge runs only if a slot is free now: more calls do not make a busy backend faster. */
  const acquireSlot = async (signal: AbortSignal, isSecond: boolean): Promise<() => void> => {
    if (!isSecond) return semaphore.acquire(signal);
    const release = semaphore.tryAcquire();
    if (release === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: 0 });
    return release;
  };

  const askJudge = async (
    excerpt: Excerpt,
    alias: ModelAlias,
    deadline: Deadline,
    secondCall?: SecondCall,
  ): Promise<JudgeAnswer> => {
    const nonce = nonceFor(excerpt.text);
    const call = callFor(excerpt, alias, nonce, secondCall);
    const run = async (runDeadline: Deadline, isSecond: boolean): Promise<ChatAnswer> => {
      const release = await acquireSlot(runDeadline.signal, isSecond);
      try {
        return await upstream(call, runDeadline, secondCall?.avoid);
      } finally {
        release();
      }
    };
    const { outcome, key } =
      hedgeAfterMs === 0
        ? await run(deadline, false)
        : await runHedged({ clock, deadline, afterMs: hedgeAfterMs }, run);
    if (outcome.kind === 'rejected') return { ...outcome, key };
    if (outcome.reply.kind === 'unusable') return { ...outcome.reply, key };
    onTokens(alias.model, { prompt: outcome.reply.promptTokens, output: outcome.reply.outputTokens });
    const unread = unreadReason(call.user, outcome.reply.promptTokens);
    if (unread !== undefined) return { kind: 'unusable', reason: unread, isUnread: true, key };
    const verdict = parseVerdict(outcome.reply.content, nonce);
    return verdict.kind === 'scores' ? verdict : { ...verdict, key };
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

type HedgeNeeds = {
  readonly clock: Clock;
  readonly deadline: Deadline;
  /** How long the first run may take before a second one starts beside it. */
  readonly afterMs: number;
};

/**
 * Starts a run, and a second one beside it when the first is slow. The first run to succeed wins and the other is aborted.
 * Rejects only when no run is left, with the first run's error.
 */
const runHedged = <T>(
  { clock, deadline, afterMs }: HedgeNeeds,
  run: (deadline: Deadline, isSecond: boolean) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const deadlines: Deadline[] = [];
    let running = 0;
    let firstError: unknown;
    const end = () => {
      cancelHedge();
      for (const part of deadlines) part.end();
    };
    const start = (isSecond: boolean) => {
      const part = createDeadline(clock, deadline.remainingMs(), deadline.signal);
      deadlines.push(part);
      running += 1;
      run(part, isSecond).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          running -= 1;
          if (!isSecond) firstError = error;
          if (running > 0) return;
          end();
          reject(deadline.signal.aborted ? deadline.signal.reason : firstError);
        },
      );
    };
    const cancelHedge = clock.after(afterMs, () => start(true));
    start(false);
  });
