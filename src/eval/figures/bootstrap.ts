/** A number, and where it lies in 95 of 100 repetitions with other rows of the same kind. */
export type Interval = { readonly low: number; readonly high: number };

const MODULUS = 2_147_483_647;
const MULTIPLIER = 48_271;

/** Numbers from 0 up to 1 that are the same in each run. Source: S. K. Park and K. W. Miller's minimal standard generator. */
const createSeededRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state * MULTIPLIER) % MODULUS;
    return (state - 1) / (MODULUS - 1);
  };
};

const SEED = 20_261_123;
const MOST_RESAMPLES = 1000;
const LEAST_RESAMPLES = 200;
const MOST_DRAWS = 5_000_000;

/** How many resamples so many rows are given: as many as take a second or so. */
const resamplesFor = (rows: number): number =>
  Math.max(LEAST_RESAMPLES, Math.min(MOST_RESAMPLES, Math.floor(MOST_DRAWS / Math.max(1, rows))));

/** Gives each resample of so many rows to `visit`: how often each row, by its index, is in it. */
export const forEachResample = (rows: number, visit: (counts: Uint32Array) => void): void => {
  const random = createSeededRandom(SEED);
  const counts = new Uint32Array(rows);
  for (let round = 0; round < resamplesFor(rows); round++) {
    counts.fill(0);
    for (let draw = 0; draw < rows; draw++) {
      const index = Math.floor(random() * rows);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    visit(counts);
  }
};

/** The middle 95 % of values; undefined without any. */
export const middleInterval = (values: readonly number[]): Interval | undefined => {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number): number | undefined => sorted[Math.round(share * (sorted.length - 1))];
  const low = at(0.025);
  const high = at(0.975);
  return low === undefined || high === undefined ? undefined : { low, high };
};
