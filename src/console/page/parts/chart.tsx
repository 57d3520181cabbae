import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { shortTime } from '../format/dates.ts';
import { countText } from '../format/numbers.ts';

/** One line or area of a chart. `color` names a custom property of the tokens, such as `--accent`. */
export type ChartSeries = {
  readonly label: string;
  readonly color: string;
  readonly isFilled?: boolean;
  /** `right`: the line has an axis of its own. */
  readonly side?: 'left' | 'right';
  readonly format?: (value: number) => string;
};

type ChartProps = {
  /** What it shows, for screen readers, as a sentence with its newest values. */
  readonly label: string;
  /** The times in seconds since the epoch, then one list of values for each series. Replaced, not changed in place. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly series: readonly ChartSeries[];
  readonly height?: number;
};

/** Nothing that is shown has parts: 1, 2, 5, 10 and so on. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const optionsFor = (series: readonly ChartSeries[], width: number, height: number): uPlot.Options => {
  const ink = colorOf('--ink-muted');
  const grid = { stroke: colorOf('--line'), width: 1 };
  const font = '12px system-ui, sans-serif';
  const sides = series.some(({ side }) => side === 'right') ? (['left', 'right'] as const) : (['left'] as const);
  const formatOf = (side: 'left' | 'right') =>
    series.find((one) => (one.side ?? 'left') === side)?.format ?? ((value: number) => countText(value));
  /** An axis of a line without a value yet would show figures of nothing. */
  const hasValues = ({ data }: uPlot, side: 'left' | 'right'): boolean =>
    series.some((one, index) => (one.side ?? 'left') === side && data[index + 1]?.some((value) => value !== null));
  return {
    width,
    height,
    cursor: { drag: { x: false, y: false } },
    legend: { live: false },
    scales: Object.fromEntries(
      sides.map((side) => [
        side,
        { range: (_plot: uPlot, _low: number, high: number) => [0, Math.max(high, 1) * 1.1] },
      ]),
    ),
    series: [
      {},
      ...series.map(({ label, color, isFilled, side }) => ({
        label,
        scale: side ?? 'left',
        stroke: colorOf(color),
        width: 1.5,
        points: { show: false },
        ...(isFilled === true ? { fill: `color-mix(in srgb, ${colorOf(color)} 16%, transparent)` } : {}),
      })),
    ],
    axes: [
      {
        stroke: ink,
        grid: { show: false },
        ticks: grid,
        font,
        space: 90,
        values: (_plot, times) => times.map((at) => shortTime(at * 1000, at * 1000)),
      },
      ...sides.map((side) => ({
        scale: side,
        side: side === 'left' ? 3 : 1,
        stroke: ink,
        font,
        size: 56,
        grid: side === 'left' ? grid : { show: false },
        ticks: { show: false },
        incrs: WHOLE_STEPS,
        values: (plot: uPlot, values: number[]) => (hasValues(plot, side) ? values.map(formatOf(side)) : []),
      })),
    ],
  };
};

/** A chart over time that follows its width and the colours of the scheme. */
export const Chart = ({ label, data, series, height = 180 }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const create = (): void => {
      plot.current?.destroy();
      const options = optionsFor(series, Math.max(120, element.clientWidth), height);
      plot.current = new uPlot(options, newest.current as uPlot.AlignedData, element);
    };
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: Math.max(120, element.clientWidth), height }),
    );
    create();
    sizes.observe(element);
    scheme.addEventListener('change', create);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener('change', create);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [series, height]);
  useEffect(() => {
    plot.current?.setData(data as uPlot.AlignedData);
  }, [data]);
  return (
    <figure class="chart">
      <div ref={place} class="chart-plot" aria-hidden="true" />
      <figcaption class="visually-hidden">{label}</figcaption>
    </figure>
  );
};
