import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';

/** How one of several agent servers has done lately. */
export type Standing = {
  /** In a row; none while it is well. */
  readonly failures: number;
  /** Until then it is asked only if no other one answers. */
  readonly outUntil: number;
  /** The newest attempt at any server when the last failure was noted. */
  readonly failedAfter: number;
};

export type Choice = {
  /** Its place in the list of servers. */
  readonly place: number;
  /** It is left out, and asked because all others have been. */
  readonly isLastResort: boolean;
};

/** One request to one server. */
export type Attempt = Choice & {
  /** Counts up over all servers. */
  readonly number: number;
};

export type Choosing = {
  readonly standings: readonly Standing[];
  /** Whose turn it is. */
  readonly from: number;
  readonly tried: ReadonlySet<number>;
  readonly now: number;
};

export type FailureFacts = {
  readonly now: number;
  readonly newest: number;
  /** How long the server itself wants to be left alone. */
  readonly askedMs: number;
};

const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 10_000;

/** A server that nothing is known against. */
export const WELL: Standing = { failures: 0, outUntil: 0, failedAfter: 0 };

export const isWell = ({ failures }: Standing): boolean => failures === 0;

/** How long a server is left out after so many failures in a row. */
export const restMsAfter = (failures: number, askedMs = 0): number =>
  Math.min(LONGEST_REST_MS, Math.max(askedMs, FIRST_REST_MS * 2 ** (failures - 1)));

/** The server to ask next: the next one in turn that is not left out, else the one whose rest ends first. */
export const choose = ({ standings, from, tried, now }: Choosing): Choice | undefined => {
  const inTurn = standings.map((_, step) => (from + step) % standings.length).filter((place) => !tried.has(place));
  const restEndOf = (place: number): number => standings[place]?.outUntil ?? 0;
  const present = inTurn.find((place) => restEndOf(place) <= now);
  if (present !== undefined) return { place: present, isLastResort: false };
  const [first, ...others] = inTurn;
  if (first === undefined) return undefined;
  const place = others.reduce((soonest, other) => (restEndOf(other) < restEndOf(soonest) ? other : soonest), first);
  return { place, isLastResort: true };
};

/** A server that comes back is tried by one request at a time: the others stay away for one more rest, or until it answers. */
export const asBegun = (standing: Standing, { isLastResort }: Choice, now: number): Standing =>
  isWell(standing) || isLastResort ? standing : { ...standing, outUntil: now + restMsAfter(standing.failures) };

/** Requests that were under way when a server failed say nothing new of it, however they end. */
export const isNews = (standing: Standing, { number }: Attempt): boolean => number > standing.failedAfter;

/** What a failure that is news makes of a standing. A last resort does not make the rest longer. */
export const asFailed = (standing: Standing, attempt: Attempt, { now, newest, askedMs }: FailureFacts): Standing => {
  if (attempt.isLastResort && !isWell(standing)) return standing;
  const failures = standing.failures + 1;
  return { failures, outUntil: now + restMsAfter(failures, askedMs), failedAfter: newest };
};

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
