import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { ChatAnswer } from '../../llm/failover.ts';
import type { BackendKey } from '../../llm/key-state.ts';
import type { TokenLogprob } from '../../llm/logprobs.ts';
import type { ChatCall } from '../../llm/types.ts';
import { countWords } from './prompt.ts';
import type { Judging } from './types.ts';

/** The judge's answer to one call: what it wrote, not read yet, or why there is nothing to read. */
export type JudgeReply =
  | {
      readonly kind: 'content';
      readonly content: string;
      readonly logprobs?: readonly TokenLogprob[];
      readonly key: BackendKey;
      /** Where settings of the chat template say what is asked: the tokens of the whole prompt as the server counts them, 0 for no count. */
      readonly tokensBySettings?: number;
    }
  | {
      readonly kind: 'unusable' | 'rejected';
      readonly reason: string;
      readonly isFinal?: boolean;
      /** The server has counted too few tokens of the prompt. */
      readonly isUnread?: boolean;
      readonly key: BackendKey;
    };

/** Makes one call, in one place of the semaphore, and once more beside it if it is slow and hedging is on. */
export type CallJudge = (call: ChatCall, deadline: Deadline, avoid?: BackendKey) => Promise<JudgeReply>;

/**
 * The share of a prompt's words that a server must count as tokens. No tokenizer that models are served with makes one
 * token of two words (o200k: 1.6 tokens for a word of the policy); those of research that do save a third of the tokens. So no server that counts the whole prompt is refused, and one that dropped the system message is found as long as the
 * text is not several times longer than the policy. The policy's word finds it whatever the length.
 */
const MIN_TOKENS_PER_WORD = 0.75;

/** Counts the words of system messages, of which there are few: the last one's count is remembered. */
const createSystemWordCount = () => {
  let last = { system: '', words: 0 };
  return (system: string): number => {
    if (last.system !== system) last = { system, words: countWords(system) };
    return last.words;
  };
};

/** Creates the calls to the judge. */
export const createJudgeCall = ({ upstream, semaphore, clock, onTokens, settings }: Judging): CallJudge => {
  const hedgeAfterMs = settings.HEDGE_AFTER_MS;
  const countSystemWords = createSystemWordCount();

  /**
   * Why the judge cannot have read the whole prompt, by the number of tokens that its server counts; undefined when it may
   * have. 0 is no count: some servers send none, and Ollama before 0.2 none for a prompt in its cache.
   */
  const unreadReason = ({ system = '', user }: ChatCall, promptTokens: number): string | undefined => {
    const leastFor = (userWords: number): number =>
      Math.floor((countSystemWords(system) + userWords) * MIN_TOKENS_PER_WORD);
    // A word and its gap take two characters: no text has more words, and counting them costs more than all the rest here.
    if (promptTokens === 0 || promptTokens >= leastFor((user.length + 1) / 2)) return undefined;
    const least = leastFor(countWords(user));
    if (promptTokens >= least) return undefined;
    return `the server counts ${promptTokens} tokens of a prompt that has ${least} or more: the model's chat template drops the policy, or its context cuts the prompt`;
  };

  /** The second call of a hedge runs only if a slot is free now: more calls do not make a busy backend faster. */
  const waitForSlot = (signal: AbortSignal, isSecond: boolean): Promise<() => void> => {
    if (isSecond) throw new Fault({ kind: 'overloaded', retryAfterMs: 0 });
    return semaphore.acquire(signal);
  };

  return async (call, deadline, avoid) => {
    const run = async (runDeadline: Deadline, isSecond: boolean): Promise<ChatAnswer> => {
      const release = semaphore.tryAcquire() ?? (await waitForSlot(runDeadline.signal, isSecond));
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
    const { content, promptTokens, outputTokens, cachedTokens, logprobs } = outcome.reply;
    onTokens(call.model, { prompt: promptTokens, output: outputTokens, cached: cachedTokens });
    const unread = unreadReason(call, promptTokens);
    if (unread !== undefined) return { kind: 'unusable', reason: unread, isUnread: true, key };
    return {
      kind: 'content',
      content,
      key,
      ...(logprobs === undefined ? {} : { logprobs }),
      ...(outcome.isBySettings === undefined ? {} : { tokensBySettings: promptTokens }),
    };
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
      const part = { ...createDeadline(clock, deadline.remainingMs(), deadline.signal), span: deadline.span };
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
