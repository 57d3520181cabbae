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
import { createUserPrompt, type Excerpt, OUTPUT_TOKENS, VERDICT_SCHEMA } from './prompt.ts';
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
      readonly key: BackendKey;
    };

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

  const callFor = (excerpt: Excerpt, { model, think }: ModelAlias, nonce: string, isRepair: boolean): ChatCall => ({
    model,
    system: needs.systemPrompt,
    user: createUserPrompt(excerpt, nonce, isRepair),
    contextTokens: needs.contextTokens,
    outputTokens: OUTPUT_TOKENS,
    ...(excerpt.image === undefined ? {} : { image: excerpt.image }),
    ...(think === undefined ? {} : { think }),
    // Some servers answer nothing, or nonsense, under a grammar: the repair call has none.
    ...(isRepair ? {} : { schema: VERDICT_SCHEMA }),
  });

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
    avoid?: BackendKey,
  ): Promise<JudgeAnswer> => {
    const nonce = nonceFor(excerpt.text);
    const call = callFor(excerpt, alias, nonce, avoid !== undefined);
    const run = async (runDeadline: Deadline, isSecond: boolean): Promise<ChatAnswer> => {
      const release = await acquireSlot(runDeadline.signal, isSecond);
      try {
        return await upstream(call, runDeadline, avoid);
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
    const verdict = parseVerdict(outcome.reply.content, nonce);
    return verdict.kind === 'scores' ? verdict : { ...verdict, key };
  };

  return async (excerpt, alias, deadline) => {
    const first = await askJudge(excerpt, alias, deadline);
    if (first.kind === 'scores') return first.scores;
    onUnusable(alias.model, first.reason);
    if (first.isFinal === true) throw faultOf(first);
    const second = await askJudge(excerpt, alias, deadline, first.key);
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
