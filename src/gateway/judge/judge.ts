import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { ChatAnswer, Upstream } from '../../llm/failover.ts';
import type { BackendKey } from '../../llm/key-pool.ts';
import type { ChatRequest } from '../../llm/types.ts';
import type { ModelAlias } from '../models.ts';
import type { Scores } from '../policy/categories.ts';
import { type Excerpt, OUTPUT_TOKENS, userPrompt, VERDICT_SCHEMA } from './prompt.ts';
import { verdictFrom } from './verdict.ts';

export type HedgeNeeds = {
  readonly clock: Clock;
  readonly deadline: Deadline;
  /** How long the first run may take before a second one joins it. */
  readonly afterMs: number;
};

/**
 * Runs once, and once more beside it when the first run is slow. The first fulfilment wins and the other run is aborted;
 * it rejects, as the first run did, only when no run is left.
 */
export const hedged = <T>(
  { clock, deadline, afterMs }: HedgeNeeds,
  run: (deadline: Deadline, isSecond: boolean) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const parts: Deadline[] = [];
    let running = 0;
    let firstError: unknown;
    const end = () => {
      cancelHedge();
      for (const part of parts) part.end();
    };
    const begin = (isSecond: boolean) => {
      const part = createDeadline(clock, deadline.remainingMs(), deadline.signal);
      parts.push(part);
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
    const cancelHedge = clock.after(afterMs, () => begin(true));
    begin(false);
  });

export type JudgeNeeds = {
  readonly upstream: Upstream;
  readonly gate: Semaphore;
  readonly clock: Clock;
  readonly system: string;
  readonly contextTokens: number;
  /** Twelve digits that nobody can guess. */
  readonly newNonce: () => string;
  /** 0: no hedging. */
  readonly hedgeAfterMs: number;
  readonly onUnusable: (model: string, reason: string) => void;
  readonly onTokens: (model: string, tokens: { readonly prompt: number; readonly output: number }) => void;
};

/** One excerpt to whole scores, or a fault. There is no third way out. */
export type Judge = (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<Scores>;

type Ruling =
  | { readonly kind: 'scores'; readonly scores: Scores }
  | { readonly kind: 'unusable' | 'rejected'; readonly reason: string; readonly key: BackendKey };

export const createJudge = (needs: JudgeNeeds): Judge => {
  const { upstream, gate, clock, hedgeAfterMs, onUnusable, onTokens } = needs;

  const nonceFor = (text: string): string => {
    const nonce = needs.newNonce();
    return text.includes(nonce) ? nonceFor(text) : nonce;
  };

  const callFor = (excerpt: Excerpt, { model, think }: ModelAlias, nonce: string, isRepair: boolean): ChatRequest => ({
    model,
    system: needs.system,
    user: userPrompt(excerpt, nonce, isRepair),
    contextTokens: needs.contextTokens,
    outputTokens: OUTPUT_TOKENS,
    ...(excerpt.image === undefined ? {} : { image: excerpt.image }),
    ...(think === undefined ? {} : { think }),
    // Some servers answer nothing, or nonsense, under a grammar: the second attempt goes without one.
    ...(isRepair ? {} : { schema: VERDICT_SCHEMA }),
  });

  const inPlace = async (call: ChatRequest, deadline: Deadline, avoid: BackendKey | undefined): Promise<ChatAnswer> => {
    const leave = await gate.acquire(deadline.signal);
    try {
      return await upstream(call, deadline, avoid);
    } finally {
      leave();
    }
  };

  /** A second call only where a place is free at once: a crowded backend is not made faster by more calls. */
  const beside = async (call: ChatRequest, deadline: Deadline, avoid: BackendKey | undefined): Promise<ChatAnswer> => {
    const leave = gate.tryAcquire();
    if (leave === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: 0 });
    try {
      return await upstream(call, deadline, avoid);
    } finally {
      leave();
    }
  };

  const ask = async (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline, avoid?: BackendKey): Promise<Ruling> => {
    const nonce = nonceFor(excerpt.text);
    const call = callFor(excerpt, alias, nonce, avoid !== undefined);
    const { outcome, key } =
      hedgeAfterMs === 0
        ? await inPlace(call, deadline, avoid)
        : await hedged({ clock, deadline, afterMs: hedgeAfterMs }, (part, isSecond) =>
            (isSecond ? beside : inPlace)(call, part, avoid),
          );
    if (outcome.kind === 'rejected') return { kind: 'rejected', reason: outcome.reason, key };
    if (outcome.reply.kind === 'unusable') return { ...outcome.reply, key };
    onTokens(alias.model, { prompt: outcome.reply.promptTokens, output: outcome.reply.outputTokens });
    const verdict = verdictFrom(outcome.reply.content, nonce);
    return verdict.kind === 'scores' ? verdict : { ...verdict, key };
  };

  return async (excerpt, alias, deadline) => {
    const first = await ask(excerpt, alias, deadline);
    if (first.kind === 'scores') return first.scores;
    onUnusable(alias.model, first.reason);
    const second = await ask(excerpt, alias, deadline, first.key);
    if (second.kind === 'scores') return second.scores;
    onUnusable(alias.model, second.reason);
    throw new Fault({ kind: second.kind === 'rejected' ? 'backend-error' : 'backend-unusable', reason: second.reason });
  };
};
