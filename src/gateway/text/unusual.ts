import type { Steps } from '../../core/time-slices.ts';
import {
  createOrdinaryRunTest,
  EMOJI,
  INVISIBLE_RUN,
  JOINING,
  neighboursOf,
  PICTOGRAM,
  type RemovedCounts,
  TAKES_VARIANTS,
  UNSPACED,
} from './invisible.ts';
import { hasIrregularSoftHyphens } from './soft-hyphens.ts';

// An invisible character is ordinary by its place and by its rate. Writing is regular: the same characters have the same
// signs between them, and most have none. What differs from that is counted, for it may be a message.

/** A use that writing has for some invisible characters. */
type Use = {
  /** What of a run is the sign of this use. */
  readonly sign: RegExp;
  readonly isPlace: (before: string, after: string) => boolean;
  /** Places of one context are expected to have the same sign. */
  readonly contextOf: (before: string, after: string, previous: string) => string;
  /** Contexts of one group are expected to have the same sign. */
  readonly groupOf: (before: string) => string;
  /** In so many places, one may be irregular. */
  readonly placesPerIrregular: number;
};

const KEYCAP = /[\d#*]/;
const SHOWN_AS_EMOJI = /\p{Emoji_Presentation}/u;
const IDEOGRAPH = /\p{Script=Han}/u;
const pairOf = (before: string, after: string): string => before + after;
const oneGroup = (): string => '';

const USES: readonly Use[] = [
  {
    sign: /^[\ufe0e\ufe0f]/,
    isPlace: (before, after) => EMOJI.test(before) && (!KEYCAP.test(before) || after === '\u20e3'),
    contextOf: (before) => before,
    groupOf: (before) => String(SHOWN_AS_EMOJI.test(before)),
    placesPerIrregular: 16,
  },
  {
    sign: /\u200d$/,
    isPlace: (before, after) => PICTOGRAM.test(before) && PICTOGRAM.test(after),
    contextOf: pairOf,
    groupOf: oneGroup,
    placesPerIrregular: 4,
  },
  {
    // Few characters of a text are names with a variant of their own.
    sign: /^[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]$/u,
    isPlace: (before) => TAKES_VARIANTS.test(before) && !EMOJI.test(before),
    contextOf: (before, after) => (IDEOGRAPH.test(before) ? before : before + after),
    groupOf: oneGroup,
    placesPerIrregular: 200,
  },
  {
    // A conjunct depends on the letter before its virama.
    sign: /^(?:\u200c|\u200d|[\u180b-\u180f])$/,
    isPlace: (before, after) => JOINING.test(before) || JOINING.test(after),
    contextOf: (before, after, previous) => previous + before + after,
    groupOf: oneGroup,
    placesPerIrregular: 16,
  },
  {
    // Words have about five letters.
    sign: /^\u200b$/,
    isPlace: (before) => UNSPACED.test(before),
    contextOf: pairOf,
    groupOf: oneGroup,
    placesPerIrregular: 5,
  },
];

/** Every other use, but for soft hyphens and the tags of flags: direction controls, marks that break names, and more. */
const OTHER_USE: Use = {
  sign: /^[^\u00ad\u{e0000}-\u{e007f}]+$/u,
  isPlace: () => true,
  contextOf: pairOf,
  groupOf: oneGroup,
  placesPerIrregular: 64,
};

/** So many signs of one use are never a message. */
const FREE_SIGNS = 12;
const PLACES_PER_STEP = 4096;
const RUNS_PER_STEP = 2048;

/** The uses that a run has in its place: an emoji selector with a joiner behind it has two. */
const findUses = (before: string, run: string, after: string): readonly Use[] => {
  const found = USES.filter((use) => use.sign.test(run) && use.isPlace(before, after));
  if (found.length > 0) return found;
  return OTHER_USE.sign.test(run) ? [OTHER_USE] : [];
};

type Tally = Map<string, number>;

const add = (tally: Tally, value: string): void => {
  tally.set(value, (tally.get(value) ?? 0) + 1);
};

/** The commonest value, and how many others there are. */
const lookAt = (tally: Tally): { readonly commonest: string; readonly others: number } => {
  let commonest = '';
  let count = 0;
  let total = 0;
  for (const [value, times] of tally) {
    total += times;
    if (times > count) [commonest, count] = [value, times];
  }
  return { commonest, others: total - count };
};

const tallyOf = (tallies: Map<string, Tally>, key: string): Tally => {
  const tally = tallies.get(key) ?? new Map<string, number>();
  tallies.set(key, tally);
  return tally;
};

/** Counts the places of one use, and what its signs are in each context. */
const createContexts = (use: Use) => {
  const contexts = new Map<string, Tally>();
  const groups = new Map<string, string>();
  let places = 0;
  return {
    add(before: string, sign: string, after: string, previous: string): void {
      if (!use.isPlace(before, after)) return;
      places += 1;
      const context = use.contextOf(before, after, previous);
      if (!contexts.has(context)) groups.set(context, use.groupOf(before));
      add(tallyOf(contexts, context), sign);
    },
    *isIrregular(): Steps<boolean> {
      const commonest = new Map<string, Tally>();
      let irregular = 0;
      let seen = 0;
      for (const [context, tally] of contexts) {
        seen += 1;
        if (seen % PLACES_PER_STEP === 0) yield;
        const found = lookAt(tally);
        irregular += found.others;
        add(tallyOf(commonest, groups.get(context) ?? ''), found.commonest);
      }
      for (const tally of commonest.values()) irregular += lookAt(tally).others;
      return irregular > FREE_SIGNS + places / use.placesPerIrregular;
    },
  };
};

type Counts = Map<number, number>;

const signOf = (use: Use, run: string): string => use.sign.exec(run)?.[0] ?? '';

const addSigns = (counts: Counts, run: string): void => {
  for (const sign of run) {
    const code = sign.codePointAt(0) ?? 0;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
};

const addCounts = (sum: Counts, counts: Counts): void => {
  for (const [code, count] of counts) sum.set(code, (sum.get(code) ?? 0) + count);
};

const totalOf = (counts: Counts): number => [...counts.values()].reduce((sum, count) => sum + count, 0);

const PLACE = new RegExp(`(.)(${INVISIBLE_RUN.source})?`, 'gsu');

/** Which of these uses are irregular in a text. */
function* findIrregular(text: string, uses: readonly Use[]): Steps<ReadonlySet<Use>> {
  const irregular = new Set<Use>();
  if (uses.length === 0) return irregular;
  const all = uses.map((use) => ({ use, contexts: createContexts(use) }));
  let places = 0;
  let previous = '';
  for (const { 0: whole, 1: before = '', 2: run = '', index } of text.matchAll(PLACE)) {
    places += 1;
    if (places % PLACES_PER_STEP === 0) yield;
    const after = String.fromCodePoint(text.codePointAt(index + whole.length) ?? 0);
    const own = run === '' ? [] : findUses(before, run, after);
    for (const { use, contexts } of all)
      contexts.add(before, own.includes(use) ? signOf(use, run) : '', after, previous);
    previous = before;
  }
  for (const { use, contexts } of all) if (yield* contexts.isIrregular()) irregular.add(use);
  return irregular;
}

const SOFT_HYPHEN = '\u00ad';

/**
 * Counts the invisible characters of a text that ordinary writing does not have: those in a strange place, and all of one
 * use if that is irregular.
 */
export function* countUnusual(text: string): Steps<RemovedCounts> {
  const strange: Counts = new Map();
  const softHyphens: Counts = new Map();
  const byUse = new Map<Use, Counts>();
  const isOrdinary = createOrdinaryRunTest(text);
  let runs = 0;
  for (const { 0: run, index } of text.matchAll(INVISIBLE_RUN)) {
    runs += 1;
    if (runs % RUNS_PER_STEP === 0) yield;
    if (!isOrdinary(run, index)) addSigns(strange, run);
    else if (run === SOFT_HYPHEN) addSigns(softHyphens, run);
    else {
      const { before, after } = neighboursOf(text, index, run.length);
      for (const use of findUses(before, run, after)) {
        const counts = byUse.get(use) ?? new Map<number, number>();
        addSigns(counts, signOf(use, run));
        byUse.set(use, counts);
      }
    }
  }
  const many = [...byUse].filter(([, counts]) => totalOf(counts) > FREE_SIGNS);
  const irregular = yield* findIrregular(
    text,
    many.map(([use]) => use),
  );
  for (const [use, counts] of many) if (irregular.has(use)) addCounts(strange, counts);
  if (totalOf(softHyphens) > FREE_SIGNS && (yield* hasIrregularSoftHyphens(text))) addCounts(strange, softHyphens);
  return strange;
}
