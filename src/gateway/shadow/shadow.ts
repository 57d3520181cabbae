import { createDeadline, type Deadline } from '../../core/async.ts';
import type { ByteBudget } from '../../core/byte-budget.ts';
import { Fault } from '../../core/fault.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { GatewayFault } from '../errors.ts';
import type { FindUnseen } from '../judge/chain/fitness.ts';
import type { ItemModeration } from '../judge/item-verdict.ts';
import type { ItemVerdict, Moderate, ModerationItem, TextDigest } from '../judge/types.ts';
import type { FoundBy, GatewayMetrics, ShadowOutcome } from '../metrics.ts';
import { type ModelAlias, takesImages } from '../models.ts';
import { type Policy, type PolicySelection, withGuardCategories } from '../policy/policy.ts';
import type { ShadowSettings } from '../policy/shadow-settings.ts';
import { compareVerdicts, disagreementLine, isDisagreement } from './compare.ts';
import { isInShare } from './share.ts';
import type { ShadowState } from './state.ts';

/** A text that was judged for a client, and by what. */
type JudgedText = {
  readonly item: ModerationItem;
  readonly verdict: ItemVerdict;
  readonly alias: ModelAlias;
  readonly policy: Policy;
};

/** A second judge or policy beside the live one. It changes no answer. */
export type Shadow = {
  /** The same moderation, whose texts the shadow may judge too once their verdicts are given. */
  readonly beside: (moderate: Moderate, policy: Policy) => Moderate;
  readonly summary: () => ShadowState;
};

type ShadowNeeds = Pick<Runtime, 'clock' | 'log'> & {
  readonly settings: ShadowSettings;
  readonly policies: Pick<PolicySelection, 'shadow'>;
  readonly metrics: Pick<GatewayMetrics, 'shadow' | 'shadowFound'>;
  readonly digest: TextDigest;
  readonly itemsBy: (policy: Policy) => Pick<ItemModeration, 'judge'>;
  readonly findUnseen: FindUnseen;
  readonly budget: Pick<ByteBudget, 'keep'>;
  /** The texts that are judged now. */
  readonly running: Set<AbortController>;
  /** Whether a call for a client waits. */
  readonly isBusy: () => boolean;
  readonly isStopping: () => boolean;
  readonly deadlineMs: number;
  /** Keeps a line about a disagreement. Must not throw, nor wait. */
  readonly keepDisagreement?: ((line: string) => void) | undefined;
};

/** What says whether an item belongs to the share: its text, and the end of its image, which begins as others do. */
const sharedBy = ({ text, image }: ModerationItem): string => `${text}${image?.base64.slice(-1024) ?? ''}`;

/** What an item takes of the budget, about as much as its request took. */
const bytesOf = ({ text, image }: ModerationItem): number => text.length + (image?.base64.length ?? 0);

/** For a reason of its own: a call that its caller has left may go on. */
const giveUp = (run: AbortController): void =>
  run.abort(new Fault<GatewayFault>({ kind: 'overloaded', retryAfterMs: 0 }));

/** Ends what runs, at once: somebody who waits needs its place, or the process stops. */
export const interruptAll = (running: ReadonlySet<AbortController>): void => running.forEach(giveUp);

/** So much of a text is kept where texts are. */
const KEPT_CHARS = 4000;

/** Left out for want of a place or a key, and no failure of its judge. */
const SKIPPED: ReadonlySet<string> = new Set<GatewayFault['kind']>(['overloaded', 'no-backend-key', 'client-left']);

/** What the shadow has found since the start. */
const createCounts = (metrics: ShadowNeeds['metrics']) => {
  const texts = { agreed: 0, differed: 0, failed: 0, skipped: 0 };
  const categories = new Map<string, Record<FoundBy, number>>();
  return {
    count(outcome: ShadowOutcome): void {
      texts[outcome] += 1;
      metrics.shadow(outcome);
    },
    countFound(category: string, foundBy: FoundBy): void {
      const counts = categories.get(category) ?? { both: 0, live: 0, shadow: 0 };
      counts[foundBy] += 1;
      categories.set(category, counts);
      metrics.shadowFound(category, foundBy);
    },
    read: () => ({
      texts: { ...texts },
      categories: [...categories].map(([category, counts]) => ({ category, ...counts })),
    }),
  };
};

type State = ShadowNeeds & {
  readonly counts: ReturnType<typeof createCounts>;
  readonly judges: Map<Policy, Pick<ItemModeration, 'judge'>>;
  started: number;
};

/** What judges a text, and by which policy. */
type Second = { readonly alias: ModelAlias; readonly policy: Policy };

const judgeBy = (state: State, policy: Policy): Pick<ItemModeration, 'judge'> => {
  const known = state.judges.get(policy) ?? state.itemsBy(policy);
  state.judges.set(policy, known);
  return known;
};

const judgeText = async (state: State, live: JudgedText, second: Second, deadline: Deadline): Promise<void> => {
  const { counts, settings, clock, digest, keepDisagreement } = state;
  const { alias, policy } = second;
  const { text, image } = live.item;
  if (image !== undefined && (await state.findUnseen(alias, deadline.signal)) !== undefined)
    return counts.count('skipped');
  const item = { views: live.verdict.views, hidden: [], image, key: `shadow ${state.started}` };
  state.started += 1;
  const { scores } = await judgeBy(state, policy).judge(item, alias, deadline);
  const compared = compareVerdicts({ policy: live.policy, scores: live.verdict.scores }, { policy, scores });
  for (const { name, foundBy } of compared) if (foundBy !== undefined) counts.countFound(name, foundBy);
  const isDifferent = compared.some(isDisagreement);
  counts.count(isDifferent ? 'differed' : 'agreed');
  if (!isDifferent || keepDisagreement === undefined) return;
  const about = {
    at: new Date(clock.now()).toISOString(),
    alias: live.alias.alias,
    policy: live.policy.version,
    shadow_alias: alias.alias,
    shadow_policy: policy.version,
    text_sha256: await digest(text),
    chars: text.length,
    ...(image === undefined ? {} : { image_sha256: await digest(image.base64) }),
    ...(settings.file?.hasTexts === true ? { text: text.slice(0, KEPT_CHARS) } : {}),
  };
  keepDisagreement(disagreementLine(about, compared));
};

const run = async (state: State, live: JudgedText, second: Second, own: AbortController): Promise<void> => {
  const { signal } = own;
  const deadline = createDeadline(state.clock, state.deadlineMs, signal);
  // The client's request has ended, and no longer counts what it held.
  const giveBack = state.budget.keep(bytesOf(live.item), () => giveUp(own));
  try {
    if (giveBack === undefined) giveUp(own);
    deadline.signal.throwIfAborted();
    await judgeText(state, live, second, deadline);
  } catch (error) {
    const kind = error instanceof Fault ? error.detail.kind : undefined;
    state.counts.count(signal.aborted || (kind !== undefined && SKIPPED.has(kind)) ? 'skipped' : 'failed');
    // A bug: it must neither end the process nor stay unseen.
    if (kind === undefined) state.log('warn', 'shadow-failed', { reason: error instanceof Error ? error.name : '' });
  } finally {
    deadline.clear();
    giveBack?.();
    state.running.delete(own);
  }
};

const offer = (state: State, judged: JudgedText, policy: Policy): void => {
  const { settings, running } = state;
  const { item, verdict } = judged;
  const alias = settings.alias ?? judged.alias;
  // What is found again was compared when it was judged.
  if (state.isStopping() || verdict.isCached || !isInShare(sharedBy(item), settings.share)) return;
  if (alias === judged.alias && policy === judged.policy) return;
  const isBlind = item.image !== undefined && !takesImages(alias);
  if (isBlind || running.size >= settings.calls || state.isBusy()) {
    state.counts.count('skipped');
    return;
  }
  const own = new AbortController();
  running.add(own);
  // The answer goes out first: a prompt takes as long to write as an answer.
  state.clock.after(0, () => void run(state, judged, { alias, policy }, own));
};

/** Creates the shadow. Texts that it has no place for are counted as skipped: nothing waits for it, and it keeps no queue. */
export const createShadow = (needs: ShadowNeeds): Shadow => {
  const { settings, running } = needs;
  const state: State = { ...needs, counts: createCounts(needs.metrics), judges: new Map(), started: 0 };
  const own = needs.policies.shadow;
  const ownWithGuard = own && withGuardCategories(own);
  /** A text that was judged for the guard face has the scores of its categories. */
  const policyFor = (policy: Policy): Policy =>
    (policy.categories.some(({ name }) => name === policy.guard[0]?.name) ? ownWithGuard : own) ?? policy;
  return {
    beside(moderate, policy) {
      const shadowPolicy = policyFor(policy);
      return async (items, alias, caller) => {
        const verdicts = await moderate(items, alias, caller);
        for (const [index, item] of items.entries()) {
          const verdict = verdicts[index];
          if (verdict !== undefined) offer(state, { item, verdict, alias, policy }, shadowPolicy);
        }
        return verdicts;
      };
    },
    summary: () => ({
      share: settings.share,
      ...(settings.alias === undefined ? {} : { alias: settings.alias.alias }),
      ...(settings.policy === undefined ? {} : { policy: settings.policy }),
      running: running.size,
      ...state.counts.read(),
    }),
  };
};
