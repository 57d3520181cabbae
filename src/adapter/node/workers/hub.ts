import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import { createFeedNumbering } from '../../../gateway/admin/feed-numbering.ts';
import { addUsages, NO_JUDGE_USAGE, ProcessState, type ProcessStates } from '../../../gateway/admin/state.ts';
import type { RateLimit } from '../../../gateway/rate-limit.ts';
import { addedCounts, MetricFamilies, mergedMetricsText } from '../../prometheus/merge.ts';
import {
  type ParentNotice,
  type ParentQuestion,
  ReadinessAnswer,
  type WorkerNotice,
  type WorkerQuestion,
} from './messages.ts';

/** One worker, as the hub reaches it. */
type HubMember = {
  readonly notify: (notice: ParentNotice) => void;
  /** The same for what it can do without. */
  readonly offer: (notice: ParentNotice) => void;
  readonly ask: (question: ParentQuestion, limitMs: number) => Promise<unknown>;
};

/** What the hub does for one worker. */
export type HubSeat = {
  readonly onNotice: (notice: WorkerNotice) => void;
  readonly onQuestion: (question: WorkerQuestion) => unknown;
  /** The worker is gone. What it had counted stays. */
  readonly leave: () => void;
};

type HubNeeds = {
  readonly clock: Clock;
  readonly rateLimit: RateLimit;
  /** The metrics of the process that holds the hub. */
  readonly ownFamilies: () => Promise<MetricFamilies>;
  /** What the policy file held when the service started; undefined where there is none. */
  readonly policyText: string | undefined;
  /** The service stops: from now on no worker is ready. */
  readonly isStopping: () => boolean;
};

/** What workers share through the process that watches them. */
export type Hub = { readonly join: (member: HubMember) => HubSeat };

/** A worker whose event loop is busy for longer counts in a scrape with what it reported last. */
const METRICS_LIMIT_MS = 1000;
const STATE_LIMIT_MS = 1000;
/** A check of the backend takes 3 s at most. */
const READY_LIMIT_MS = 3500;

type Entry = {
  readonly member: HubMember;
  isStarted: boolean;
  families: MetricFamilies;
  /** Its counts, as its last state message had them. */
  usage: ProcessState['usage'];
};
type RunningCoolDown = Extract<ParentNotice, { readonly kind: 'cool-down' }> & { readonly endsAt: number };

/** Creates the shared state of workers. It holds digests, fingerprints, scores and counts: no key and no text. */
export const createHub = ({ clock, rateLimit, ownFamilies, policyText, isStopping }: HubNeeds): Hub => {
  const members = new Set<Entry>();
  const coolDowns = new Map<string, RunningCoolDown>();
  const feed = createFeedNumbering(clock.now);
  let ended: Promise<MetricFamilies> = Promise.resolve([]);
  let endedUsage = NO_JUDGE_USAGE;

  const othersOf = (from: Entry): Entry[] => [...members].filter((other) => other !== from);
  /** A shorter cool-down never replaces a longer one, and a rest by hand ends by hand alone. */
  const keepCoolDown = (notice: Extract<ParentNotice, { readonly kind: 'cool-down' }>): void => {
    const { fingerprint, coolDownMs, reason } = notice;
    const endsAt = clock.now() + coolDownMs;
    const isByHand = coolDowns.get(fingerprint)?.reason === 'manual' && reason !== 'manual';
    if (coolDownMs === 0 && !isByHand) coolDowns.delete(fingerprint);
    else if (endsAt > (coolDowns.get(fingerprint)?.endsAt ?? 0)) coolDowns.set(fingerprint, { ...notice, endsAt });
  };
  const sendCoolDowns = (member: HubMember): void => {
    for (const { endsAt, ...notice } of coolDowns.values()) {
      const coolDownMs = endsAt - clock.now();
      if (coolDownMs > 0) member.notify({ ...notice, coolDownMs });
    }
  };

  const familiesOf = async (entry: Entry): Promise<MetricFamilies> => {
    const answer = v.safeParse(MetricFamilies, await entry.member.ask({ kind: 'metrics' }, METRICS_LIMIT_MS));
    if (answer.success && members.has(entry)) entry.families = answer.output;
    return entry.families;
  };
  const started = (): Entry[] => [...members].filter(({ isStarted }) => isStarted);
  const metricsText = async (): Promise<string> => {
    await Promise.all(started().map(familiesOf));
    const own = await ownFamilies();
    // A worker that ends here is one of those that ended, or of those that run. So what has ended must not be older.
    let seen: typeof ended;
    let counts: MetricFamilies;
    do {
      seen = ended;
      counts = await seen;
    } while (seen !== ended);
    return mergedMetricsText([own, counts, ...[...members].map(({ families }) => families)]);
  };

  const stateOf = async (entry: Entry): Promise<ProcessState | undefined> => {
    const answer = v.safeParse(ProcessState, await entry.member.ask({ kind: 'state' }, STATE_LIMIT_MS));
    if (!answer.success || !members.has(entry)) return undefined;
    entry.usage = answer.output.usage;
    return answer.output;
  };
  const states = async (): Promise<ProcessStates> => {
    const asked = started();
    const found = await Promise.all(asked.map(stateOf));
    // A worker that did not answer has counted at least what its last message had.
    const silent = asked.filter((entry, index) => found[index] === undefined && members.has(entry));
    const usages = silent.map(({ usage }) => usage);
    return {
      running: started().length,
      states: found.filter((state) => state !== undefined),
      ended: addUsages([endedUsage, ...usages]),
    };
  };

  /** The first answer of another worker that is ready. */
  const readyOther = async (from: Entry): Promise<v.InferOutput<typeof ReadinessAnswer> | undefined> => {
    const others = isStopping() ? [] : othersOf(from).filter(({ isStarted }) => isStarted);
    const answers = others.map(async ({ member }) => {
      const answer = v.parse(ReadinessAnswer, await member.ask({ kind: 'ready' }, READY_LIMIT_MS));
      if (answer.reasons.length > 0) throw new Error('Not ready');
      return answer;
    });
    return Promise.any(answers).catch(() => undefined);
  };

  return {
    join(member) {
      const entry: Entry = { member, isStarted: false, families: [], usage: NO_JUDGE_USAGE };
      members.add(entry);
      return {
        onNotice(notice) {
          switch (notice.kind) {
            case 'started':
              entry.isStarted = true;
              if (feed.isOpen()) member.notify({ kind: 'feed-read' });
              return sendCoolDowns(member);
            case 'closed':
            case 'failed':
              return;
            case 'metrics':
              entry.families = notice.families;
              return;
            case 'cool-down':
              keepCoolDown(notice);
              for (const { member: other } of othersOf(entry)) other.notify(notice);
              return;
            case 'verdicts':
              for (const { member: other } of othersOf(entry)) other.offer(notice);
              return;
            case 'feed-read':
              feed.keepOpen();
              for (const { member: other } of othersOf(entry)) other.notify(notice);
              return;
            case 'feed': {
              const batch = feed.number(notice);
              for (const { member: one } of started()) one.offer({ kind: 'feed', ...batch });
              return;
            }
            default:
              return notice satisfies never;
          }
        },
        onQuestion(question) {
          switch (question.kind) {
            case 'count':
              return rateLimit(question.keyId);
            case 'metrics':
              return metricsText();
            case 'policy':
              return policyText;
            case 'ready':
              return readyOther(entry);
            case 'states':
              return states();
            default:
              return question satisfies never;
          }
        },
        leave() {
          if (!members.delete(entry)) return;
          const { families, usage } = entry;
          endedUsage = addUsages([endedUsage, usage]);
          ended = ended.then((before) => addedCounts([before, families]));
        },
      };
    },
  };
};
