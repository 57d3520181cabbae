import { createDeadline, type Deadline, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { ModelAlias } from '../models.ts';
import { type Scores, worstOf } from '../policy/categories.ts';
import type { Image, Item } from '../routes/request.ts';
import { viewsOf } from '../text/decode.ts';
import { NORMALISER_VERSION, windowsOf } from '../text/normalize.ts';
import type { VerdictCache } from './cache.ts';
import type { Judge } from './judge.ts';
import { type Excerpt, userPrompt } from './prompt.ts';

/** Lets callers that want the same thing at the same time share one piece of work. */
export type SharedWork<T> = {
  /** Joins the work under `key`, or starts it. It is aborted only when the last caller has left. */
  readonly join: (key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>) => Promise<T>;
};

type Flight<T> = { readonly promise: Promise<T>; readonly controller: AbortController; callers: number };

export const createSharedWork = <T>(): SharedWork<T> => {
  const flights = new Map<string, Flight<T>>();

  const begin = (key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController();
    const promise = start(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    const flight: Flight<T> = { promise, controller, callers: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async join(key, signal, start) {
      signal.throwIfAborted();
      const flight = flights.get(key) ?? begin(key, start);
      flight.callers += 1;
      try {
        return await untilAborted(flight.promise, signal);
      } finally {
        flight.callers -= 1;
        // Whoever comes next must not join work that is being given up.
        if (flight.callers === 0 && flights.get(key) === flight) {
          flights.delete(key);
          flight.controller.abort(signal.reason);
        }
      }
    },
  };
};

/** Verdicts that several replicas share. It never fails: what is not found is asked for, what is not kept is lost. */
export type SharedVerdicts = {
  readonly find: (key: string) => Promise<Scores | undefined>;
  readonly keep: (key: string, scores: Scores) => void;
};

export type ModerateNeeds = {
  readonly judge: Judge;
  readonly cache: VerdictCache;
  readonly shared: SharedVerdicts | undefined;
  readonly clock: Clock;
  /** The policy as the judge reads it: other words, other verdicts. */
  readonly system: string;
  readonly windowChars: number;
  readonly deadlineMs: number;
  /** A cryptographic hash: a collision would answer one text with another's verdict. */
  readonly digest: (text: string) => string | Promise<string>;
};

export type Judged = { readonly scores: Scores; readonly isCached: boolean };

/** Judges one item: every window of every view, worst wins. One missing verdict fails the whole item. */
export type Moderate = (item: Item, alias: ModelAlias, deadline: Deadline) => Promise<Judged>;

const excerptsOf = (views: readonly string[], windowChars: number, image: Image | undefined): readonly Excerpt[] => {
  const excerpts = views.flatMap((view) => {
    const windows = windowsOf(view, windowChars);
    return windows.map((text, index) => ({ text, part: index + 1, parts: windows.length }));
  });
  const [first, ...rest] = excerpts;
  // The image is looked at once, beside the beginning of the text.
  return first === undefined || image === undefined ? excerpts : [{ ...first, image }, ...rest];
};

export const createModerate = (needs: ModerateNeeds): Moderate => {
  const { judge, cache, shared, clock, windowChars, deadlineMs, digest } = needs;
  const work = createSharedWork<Judged>();
  // Whatever the judge reads besides the text, and how the text is made ready for it: other words, other verdicts.
  const words = userPrompt({ text: '', part: 1, parts: 1 }, '', false);
  const settings = [needs.system, words, NORMALISER_VERSION, String(windowChars)].join('\0');
  let settingsDigest: string | Promise<string> | undefined;

  const keyOf = async (
    views: readonly string[],
    image: Image | undefined,
    { model, think }: ModelAlias,
  ): Promise<string> => {
    settingsDigest ??= digest(settings);
    const parts = [await settingsDigest, model, String(think), image?.mediaType ?? '', image?.base64 ?? '', ...views];
    // Views hold no NUL, the normaliser takes it out: no two lists of parts look the same joined.
    return digest(parts.join('\0'));
  };

  const judgeAll = async (excerpts: readonly Excerpt[], alias: ModelAlias, signal: AbortSignal): Promise<Scores> => {
    // Its own full time: whoever joins later must not suffer from the hurry of the first.
    const deadline = createDeadline(clock, deadlineMs, signal);
    const [only] = excerpts;
    try {
      if (only !== undefined && excerpts.length === 1) return await judge(only, alias, deadline);
      return worstOf(await Promise.all(excerpts.map((excerpt) => judge(excerpt, alias, deadline))));
    } catch (error) {
      // One failed window fails them all: the others' calls are not worth their cost any more.
      deadline.end();
      throw error;
    } finally {
      deadline.clear();
    }
  };

  return async ({ text, image }, alias, { signal }) => {
    const views = viewsOf(text);
    const key = await keyOf(views, image, alias);
    const kept = cache.find(key);
    if (kept !== undefined) return { scores: kept, isCached: true };
    const join = () => work.join(key, signal, judgeOrFind);
    const judgeOrFind = async (workSignal: AbortSignal): Promise<Judged> => {
      const known = await shared?.find(key);
      const scores = known ?? (await judgeAll(excerptsOf(views, windowChars, image), alias, workSignal));
      cache.keep(key, scores);
      if (known === undefined) shared?.keep(key, scores);
      return { scores, isCached: known !== undefined };
    };
    try {
      return await join();
    } catch (error) {
      // Work that was joined late ends with the time of whoever began it. This caller has time left for work of its own.
      if (signal.aborted || !(error instanceof Fault && error.detail.kind === 'backend-timeout')) throw error;
      return join();
    }
  };
};
