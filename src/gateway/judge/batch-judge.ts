import { createDeadline, type Deadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { ChatCall } from '../../llm/types.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import { type BatchPrompts, batchOutputTokens } from './batch-prompt.ts';
import type { ParseBatch } from './batch-verdict.ts';
import type { CallJudge } from './call.ts';

type BatchJudgeNeeds = {
  readonly callJudge: CallJudge;
  readonly clock: Clock;
  readonly prompts: BatchPrompts;
  /** From these scores on, by category, a text is judged alone. */
  readonly doubtFrom: CategoryScores;
  readonly parseBatch: ParseBatch;
  /** The context that a local server gives the model, and how long it holds it. */
  readonly memory: Pick<ChatCall, 'contextTokens' | 'keepAlive'>;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly onUnusable: (model: string, reason: string) => void;
  readonly onBatch: GatewayMetrics['batch'];
};

/** The time for a batch, and the signal that ends it when no request waits for any of its verdicts. */
type BatchLimits = Pick<Deadline, 'signal' | 'span'> & { readonly limitMs: number };

/**
 * Judges several texts in one call. Gives the scores of each text, in order, or undefined for one that has to be judged
 * alone. Rejects only when the signal aborts, or with a bug: whatever else fails is no verdict, for no text.
 */
export type JudgeBatch = (
  texts: readonly string[],
  alias: ModelAlias,
  limits: BatchLimits,
) => Promise<readonly (CategoryScores | undefined)[]>;

/** From here on the policy calls a score a violation. */
const VIOLATION = 0.5;
/** From here on our policy calls a score doubtful. */
const DOUBT = 0.25;

/** The scores from which a text is judged alone, by category: where the judge's scale has doubt, or an operator has it earlier. */
export const doubtLimits = ({ categories }: Pick<Policy, 'categories'>): CategoryScores =>
  categories.map(({ controversial, threshold }) => Math.min(DOUBT, controversial, threshold));

/** No timeout: a host that is slow with several texts may be quick with one, and the breaker must not open for that. */
const givenUp = (): Fault => new Fault({ kind: 'client-left' });

/** Creates a judge of batches. There is no repair: what a batch does not give is judged alone. */
export const createBatchJudge = (needs: BatchJudgeNeeds): JudgeBatch => {
  const { callJudge, clock, onUnusable, prompts, parseBatch } = needs;

  /** As many numbers as texts: none stands in any of the texts, and no two are the same. */
  const noncesFor = (texts: readonly string[]): readonly string[] => {
    const nonces = new Set<string>();
    while (nonces.size < texts.length) {
      const nonce = needs.newNonce();
      if (!texts.some((text) => text.includes(nonce))) nonces.add(nonce);
    }
    return [...nonces];
  };

  const callFor = (texts: readonly string[], nonces: readonly string[], { model, think }: ModelAlias): ChatCall => ({
    model,
    system: prompts.system,
    user: prompts.user(texts.map((text, index) => ({ text, nonce: nonces[index] ?? '' }))),
    ...needs.memory,
    outputTokens: batchOutputTokens(texts.length),
    ...(think === undefined ? {} : { think }),
    schema: prompts.schemaFor(texts.length),
  });

  const ask = async (
    texts: readonly string[],
    alias: ModelAlias,
    { limitMs, signal, span }: BatchLimits,
  ): Promise<readonly CategoryScores[] | undefined> => {
    const nonces = noncesFor(texts);
    const deadline = createDeadline(clock, limitMs, signal, givenUp);
    try {
      const reply = await callJudge(callFor(texts, nonces, alias), { ...deadline, span });
      const answer = reply.kind === 'content' ? parseBatch(reply.content, nonces) : reply;
      if (answer.kind === 'scores') return answer.scores;
      onUnusable(alias.model, `a batch of ${texts.length}: ${answer.reason}`);
      return undefined;
    } catch (error) {
      if (signal.aborted || !(error instanceof Fault)) throw error;
      if (deadline.signal.aborted) onUnusable(alias.model, `a batch of ${texts.length}: it took too long`);
      return undefined;
    } finally {
      deadline.clear();
    }
  };

  return async (texts, alias, limits) => {
    const verdicts = await ask(texts, alias, limits);
    // Beside a violation the scores of the others may be those of another text, or coloured by it.
    const isClear = verdicts?.flat().every((score) => score < VIOLATION) === true;
    const given = texts.map((_, index) => {
      const scores = isClear ? verdicts?.[index] : undefined;
      return scores?.every((score, at) => score < (needs.doubtFrom[at] ?? 0)) === true ? scores : undefined;
    });
    const judged = given.filter((scores) => scores !== undefined).length;
    needs.onBatch(alias.model, { judged, judgedAlone: texts.length - judged });
    return given;
  };
};
