import type { Clock } from '../../core/clock.ts';
import { AnsweredFailure, type Handler } from '../../core/http/handler.ts';
import { highestScores } from '../policy/categories.ts';
import { noVerdictReason } from '../routes/no-verdict.ts';
import type { JudgedRequest, VerdictRoute } from '../routes/observer.ts';
import type { Feed } from './feed.ts';

/** Which route a verdict was asked for with. */
type Face = 'moderations' | 'guard';
type SeenRequest = { readonly face: Face; readonly startedAt: number; alias: string | null };

type VerdictEventsNeeds = { readonly clock: Clock; readonly feed: Pick<Feed, 'isOpen' | 'publish' | 'skip'> };

/** Makes events of the feed from the requests to a route, and costs nothing while the feed has no reader. */
export type WatchVerdicts = (face: Face, route: VerdictRoute) => Handler;

/** More verdicts than these are counted and not shown: no reader could follow them, and each costs a tenth of one from the cache. */
const EVENTS_LIMIT = 125;
const EVENTS_EVERY_MS = 250;

/** Whether one more event may be made now. */
const createEventLimit = (now: () => number): (() => boolean) => {
  let startedAt = Number.NEGATIVE_INFINITY;
  let made = 0;
  return () => {
    const at = now();
    if (Math.abs(at - startedAt) >= EVENTS_EVERY_MS) [startedAt, made] = [at, 0];
    made += 1;
    return made <= EVENTS_LIMIT;
  };
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

/** Creates the source of `verdict` events: one for each result, or one for a failure that leaves a request without. */
export const createWatchVerdicts = ({ clock, feed }: VerdictEventsNeeds): WatchVerdicts => {
  const mayMake = createEventLimit(clock.now);
  const publish = ({ face, startedAt, alias }: SeenRequest, outcome: object): void => {
    const at = clock.now();
    feed.publish('verdict', { at, face, alias, duration_ms: at - startedAt, ...outcome });
  };
  const publishVerdicts = (seen: SeenRequest, judged: JudgedRequest): void => {
    const { categories } = judged.policy;
    for (const { scores, hidden, isCached } of seen.face === 'guard' ? asOneVerdict(judged) : judged.verdicts) {
      if (!mayMake()) {
        feed.skip();
        continue;
      }
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
  const publishFailure = (seen: SeenRequest, error: unknown): void => {
    const reason = noVerdictReason(error instanceof AnsweredFailure ? error.cause : error);
    if (reason === undefined) return;
    if (mayMake()) publish(seen, { error: reason });
    else feed.skip();
  };
  return (face, route) => async (request) => {
    if (!feed.isOpen()) return route(request);
    const seen: SeenRequest = { face, startedAt: clock.now(), alias: null };
    try {
      return await route(request, {
        describe(alias) {
          seen.alias = alias;
        },
        judged: (judged) => publishVerdicts(seen, judged),
      });
    } catch (error) {
      publishFailure(seen, error);
      throw error;
    }
  };
};
