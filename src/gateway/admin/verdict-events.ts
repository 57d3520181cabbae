import type { Clock } from '../../core/clock.ts';
import type { Handler } from '../../core/http/handler.ts';
import { highestScores } from '../policy/categories.ts';
import { noVerdictReason } from '../routes/no-verdict.ts';
import type { JudgedRequest, RequestObserver } from '../routes/observer.ts';
import type { Feed } from './feed.ts';

/** Which route a verdict was asked for with. */
type Face = 'moderations' | 'guard';
type SeenRequest = { readonly face: Face; readonly startedAt: number; alias: string | null };

type VerdictEventsNeeds = { readonly clock: Clock; readonly feed: Pick<Feed, 'isOpen' | 'publish'> };

/** Makes events of the feed from requests for verdicts. */
export type VerdictEvents = {
  readonly observer: RequestObserver;
  /** Wraps a route, so that its failures and its time are known. */
  readonly watch: (face: Face, route: Handler) => Handler;
};

const asOneVerdict = ({ policy, verdicts }: JudgedRequest): JudgedRequest['verdicts'] => [
  {
    scores: highestScores(
      verdicts.map(({ scores }) => scores),
      policy.categories.length,
    ),
    isCached: verdicts.every(({ isCached }) => isCached),
    hidden: verdicts.flatMap(({ hidden }) => hidden),
  },
];

/** Creates the source of `verdict` events: one for each result, none while nobody watches. */
export const createVerdictEvents = ({ clock, feed }: VerdictEventsNeeds): VerdictEvents => {
  const requests = new WeakMap<Request, SeenRequest>();
  const publish = ({ face, startedAt, alias }: SeenRequest, outcome: object): void => {
    const at = clock.now();
    feed.publish('verdict', { at, face, alias, duration_ms: at - startedAt, ...outcome });
  };
  const publishVerdicts = (seen: SeenRequest, judged: JudgedRequest): void => {
    const { categories } = judged.policy;
    for (const { scores, hidden, isCached } of seen.face === 'guard' ? asOneVerdict(judged) : judged.verdicts) {
      let top = 0;
      for (let index = 1; index < categories.length; index++)
        if ((scores[index] ?? 0) > (scores[top] ?? 0)) top = index;
      publish(seen, {
        flagged: categories.filter(({ threshold }, index) => (scores[index] ?? 1) >= threshold).map(({ name }) => name),
        highest: { category: categories[top]?.name, score: scores[top] },
        hidden: hidden.length > 0,
        cache: isCached ? 'hit' : 'miss',
      });
    }
  };
  return {
    observer: {
      describe(request, alias) {
        const seen = requests.get(request);
        if (seen !== undefined) seen.alias = alias;
      },
      judged(request, judged) {
        const seen = requests.get(request);
        if (seen !== undefined) publishVerdicts(seen, judged);
      },
    },
    watch: (face, route) => async (request) => {
      if (!feed.isOpen()) return route(request);
      const seen: SeenRequest = { face, startedAt: clock.now(), alias: null };
      requests.set(request, seen);
      try {
        return await route(request);
      } catch (error) {
        const reason = noVerdictReason(error);
        if (reason !== undefined) publish(seen, { error: reason });
        throw error;
      }
    },
  };
};
