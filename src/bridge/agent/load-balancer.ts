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
