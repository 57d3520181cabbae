import { type CacheUse, type LatencyGroup, LENGTH_CLASSES } from '../figures/latency.ts';
import { figureMarkup, type KeyEntry } from './figure.ts';
import { millisecondsText, powerText } from './format.ts';
import type { Markup } from './markup.ts';
import type { Color, Series, Shape } from './plot.ts';

const LOOKS: Readonly<Record<CacheUse, { readonly color: Color; readonly shape: Shape; readonly name: string }>> = {
  miss: { color: 'run-a', shape: 'circle', name: 'judged' },
  hit: { color: 'run-b', shape: 'triangle', name: 'from the cache' },
  unknown: { color: 'quiet', shape: 'diamond', name: 'cache not known' },
};

const power = (ms: number): number => Math.log10(Math.max(0.1, ms));

/** Latency by length of the text, judged and from the cache apart. */
export const latencyFigure = (id: string, title: string, groups: readonly LatencyGroup[]): Markup => {
  const uses = (['miss', 'hit', 'unknown'] as const).filter((use) => groups.some(({ cache }) => cache === use));
  const place = (name: string): number => LENGTH_CLASSES.findIndex((one) => one.name === name) + 1;
  const pointsOf = (use: CacheUse, percent: 'p50' | 'p95'): Series['points'] =>
    groups.filter(({ cache }) => cache === use).map((group) => [place(group.chars), power(group[percent])]);
  const powers = groups.flatMap(({ p50, p95 }) => [power(p50), power(p95)]);
  const series = uses.flatMap((use): Series[] => [
    { kind: 'line', ...LOOKS[use], points: pointsOf(use, 'p50') },
    { kind: 'line', ...LOOKS[use], isDashed: true, points: pointsOf(use, 'p95') },
  ]);
  return figureMarkup({
    id,
    title,
    description: `Half of the rows were answered within the solid line, 95 % within the dashed one.`,
    plot: {
      x: {
        name: 'characters of the text',
        min: 0,
        max: LENGTH_CLASSES.length + 1,
        step: 1,
        label: (value) => ['', '≤ 100', '≤ 500', '≤ 2k', '≤ 10k', 'more', ''][value] ?? '',
      },
      y: {
        name: 'ms (log)',
        min: Math.floor(Math.min(0, ...powers)),
        max: Math.max(1, Math.ceil(Math.max(...powers))),
        step: 1,
        label: powerText,
      },
      series,
    },
    key: uses.flatMap((use): KeyEntry[] => [
      { ...LOOKS[use], name: `${LOOKS[use].name}, p50` },
      { ...LOOKS[use], name: `${LOOKS[use].name}, p95`, isDashed: true },
    ]),
    numbers: {
      head: ['characters', 'answer', 'rows', 'p50', 'p95'],
      rows: groups.map(({ chars, cache, count, p50, p95 }) => [
        chars,
        LOOKS[cache].name,
        count,
        millisecondsText(p50),
        millisecondsText(p95),
      ]),
    },
  });
};
