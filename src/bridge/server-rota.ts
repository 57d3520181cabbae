import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { type Attempt, asBegun, asFailed, choose, isNews, isWell, type Standing, WELL } from './agent/load-balancer.ts';

/** What a server is asked for. Each has a turn of its own, so that prompts alone are spread evenly too. */
export type Errand = 'prompt' | 'call' | 'feed';

export type ServerCount = { readonly all: number; readonly well: number };

/** Whose turn it is among several agent servers, and who is left out for a while. */
export type ServerRota = {
  /** The next server to ask, or nothing once each of them was tried. */
  readonly begin: (errand: Errand, tried: ReadonlySet<number>) => Attempt | undefined;
  /** A look at one server, out of turn. */
  readonly beginAt: (place: number) => Attempt;
  readonly answered: (attempt: Attempt) => void;
  readonly failed: (attempt: Attempt, why: { readonly reason: string; readonly askedMs?: number }) => void;
  readonly count: () => ServerCount;
};

export type RotaNeeds = {
  /** How many servers there are. */
  readonly all: number;
  readonly clock: Clock;
  readonly log: Log;
};

export const createServerRota = ({ all, clock, log }: RotaNeeds): ServerRota => {
  const standings: Standing[] = Array.from({ length: all }, () => WELL);
  const turns: Record<Errand, number> = { prompt: 0, call: 0, feed: 0 };
  let newest = 0;

  const standingOf = (place: number): Standing => standings[place] ?? WELL;
  const nameOf = (place: number): string => `${place + 1} of ${all}`;
  const next = (): number => {
    newest += 1;
    return newest;
  };
  return {
    begin(errand, tried) {
      const now = clock.now();
      const choice = choose({ standings, from: turns[errand], tried, now });
      if (choice === undefined) return undefined;
      const { place } = choice;
      turns[errand] = (place + 1) % all;
      standings[place] = asBegun(standingOf(place), choice, now);
      return { ...choice, number: next() };
    },
    beginAt: (place) => ({ place, isLastResort: standingOf(place).outUntil > clock.now(), number: next() }),
    answered(attempt) {
      const { place } = attempt;
      const standing = standingOf(place);
      if (isWell(standing) || !isNews(standing, attempt)) return;
      standings[place] = WELL;
      log('info', 'agent-back', { backend: nameOf(place) });
    },
    failed(attempt, { reason, askedMs = 0 }) {
      const { place } = attempt;
      const standing = standingOf(place);
      if (!isNews(standing, attempt)) return;
      const now = clock.now();
      const failed = asFailed(standing, attempt, { now, newest, askedMs });
      standings[place] = failed;
      // While it stays away there is nothing new to say.
      if (!isWell(standing)) return;
      log('warn', 'agent-left-out', { backend: nameOf(place), reason, restMs: failed.outUntil - now });
    },
    count: () => ({ all, well: standings.filter(isWell).length }),
  };
};
