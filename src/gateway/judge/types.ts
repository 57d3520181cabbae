import type { Deadline } from '../../core/async.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { Upstream } from '../../llm/breaker.ts';
import type { ChatImage } from '../../llm/types.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Hiding } from '../text/decode.ts';
import type { MakeViews } from '../text/make-views.ts';
import type { SharedVerdicts, VerdictCache } from './cache.ts';

/** A cryptographic hash of a text: a collision would answer one text with another's verdict. */
export type TextDigest = (text: string) => string | Promise<string>;

/** A text whose views were made: the key of its verdict, and how something was hidden in it. */
export type KnownText = { readonly key: string; readonly hidden: readonly Hiding[] };

/** What texts are judged with, whatever the policy. */
export type Judging = Pick<Runtime, 'clock' | 'runInSlices'> & {
  readonly upstream: Upstream;
  readonly semaphore: Pick<Semaphore, 'acquire' | 'tryAcquire'>;
  readonly makeViews: MakeViews;
  /** The context that a local server gives the model, in tokens. */
  readonly contextTokens: number;
  readonly cache: VerdictCache;
  /** Texts whose views were made before. */
  readonly texts: VerdictCache<KnownText>;
  readonly shared: SharedVerdicts | undefined;
  readonly digest: TextDigest;
  /** Twelve unguessable digits. */
  readonly newNonce: () => string;
  readonly onUnusable: (model: string, reason: string) => void;
  readonly onTokens: GatewayMetrics['tokens'];
  readonly settings: {
    readonly MODERATION_WINDOW_CHARS: number;
    readonly REQUEST_DEADLINE_MS: number;
    /** 0: no hedging. */
    readonly HEDGE_AFTER_MS: number;
  };
};

/** What one call judges: part `part` of `parts` of a text, counted from 1, and at most one image. */
export type Excerpt = {
  readonly text: string;
  readonly part: number;
  readonly parts: number;
  readonly image?: ChatImage;
};

/**
 * How scores came about. `judged`: a chat model wrote them. `probability`: made of the probabilities of a guard model's words.
 * `binary`: made of its words alone.
 */
export type ScoreType = 'judged' | 'probability' | 'binary';

/**
 * What a judge found in an excerpt. `scores`: one for each category of the policy, in its order, in whole hundredths. Those that the
 * judge covers are numbers. Of the others a number is what it found beside its own, which may raise another judge's score; undefined
 * says nothing, and never counts as zero.
 */
export type JudgedScores = {
  readonly scores: readonly (number | undefined)[];
  readonly scoreType: ScoreType;
  /**
   * How much harm it finds of what it does not cover, from 0 to 1: 1 where it names such a violation. Absent where its answers say
   * nothing of it.
   */
  readonly otherHarm?: number;
};

/** A judge of one kind under one policy. */
export type Judge = {
  /** For each category of the policy, in its order: whether the judge can say that a text is clean of it. */
  readonly covers: readonly boolean[];
  /** Resolves with a number for every category that it covers, or throws a `Fault`. */
  readonly judge: (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<JudgedScores>;
};

/** A judge that was asked, and about which categories; undefined where it was the first one, and asked about all that it covers. */
export type AskedJudge = { readonly model: string; readonly categories: readonly string[] | undefined };

/** The scores of a policy's categories, and how each came about; undefined where chat models gave all. */
export type TypedScores = { readonly scores: CategoryScores; readonly scoreTypes?: readonly ScoreType[] };

/** One thing to judge: it gets one result. */
export type ModerationItem = { readonly text: string; readonly image?: ChatImage };

/** The scores of one item, whether they come from the cache, which judges were asked, and how something was hidden in it. */
export type ItemVerdict = TypedScores & {
  readonly isCached: boolean;
  readonly asked: readonly AskedJudge[];
  readonly hidden: readonly Hiding[];
  /** What the judge read; empty where the scores were found by the text alone. */
  readonly views: readonly string[];
};

/** Whose items they are, by the digest of a gateway key, and how long they may take. */
export type ItemCaller = Deadline & { readonly owner: string };

/** Judges the items of a request: a verdict for each, in order, or one failure for all. */
export type Moderate = (
  items: readonly ModerationItem[],
  alias: ModelAlias,
  caller: ItemCaller,
) => Promise<readonly ItemVerdict[]>;
