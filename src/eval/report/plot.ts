import { BarChart, LineChart } from 'echarts/charts';
import { GridComponent, MarkLineComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { escapeText, type Markup, trusted } from './markup.ts';

use([BarChart, LineChart, GridComponent, MarkLineComponent, SVGRenderer]);

/** A colour of the page's style, so that a drawing follows light and dark. */
export type Color = 'run-a' | 'run-b' | 'harmful' | 'benign' | 'quiet';
/** Shapes tell series apart where colours do not. */
export type Shape = 'circle' | 'diamond' | 'triangle' | 'none';

export type Series = {
  readonly kind: 'line' | 'steps' | 'points' | 'bars';
  readonly color: Color;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly isDashed?: boolean;
  readonly shape?: Shape;
};

/** An axis with a tick at `min`, and one at every `step` from there. */
export type Axis = {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly label?: (value: number) => string;
};

/** A drawing: series over two axes, and straight lines across it. */
export type Plot = {
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  readonly marks?: readonly { readonly axis: 'x' | 'y'; readonly value: number; readonly color: Color }[];
};

/** What is read out in place of a drawing. `id` is unique in the page. */
type Name = { readonly id: string; readonly title: string; readonly description: string };

const WIDTH = 360;
const HEIGHT = 260;
const FONT_PX = 12;

const colorOf = (color: Color | 'text' | 'line' | 'grid'): string => `var(--${color})`;

const axisOption = ({ name, min, max, step, label }: Axis, nameGap: number) => ({
  type: 'value' as const,
  name,
  nameLocation: 'middle' as const,
  nameGap,
  nameMoveOverlap: false,
  nameTextStyle: { color: colorOf('text'), fontSize: FONT_PX },
  min,
  max,
  interval: step,
  // Else bars widen the axis beyond its ends.
  containShape: false,
  axisLabel: {
    color: colorOf('text'),
    fontSize: FONT_PX,
    hideOverlap: true,
    ...(label === undefined ? {} : { formatter: label }),
  },
  axisLine: { show: true, onZero: false, lineStyle: { color: colorOf('line') } },
  axisTick: { show: true, lineStyle: { color: colorOf('line') } },
  splitLine: { show: true, lineStyle: { color: colorOf('grid') } },
});

const barWidth = (points: Series['points']): number => Math.max(2, Math.floor(((WIDTH - 68) * 0.85) / points.length));

const seriesOption = ({ kind, color, points, isDashed = false, shape = 'none' }: Series) => {
  const data = points.map(([x, y]) => [x, y]);
  const itemStyle = { color: colorOf(color) };
  if (kind === 'bars')
    return { type: 'bar' as const, data, itemStyle, barWidth: barWidth(points), barGap: '-100%', silent: true };
  const width = kind === 'points' ? 0 : 2;
  return {
    type: 'line' as const,
    data,
    itemStyle,
    silent: true,
    clip: false,
    symbol: shape,
    symbolSize: kind === 'points' ? 12 : 8,
    showSymbol: shape !== 'none',
    showAllSymbol: true as const,
    lineStyle: { color: colorOf(color), width, type: isDashed ? ('dashed' as const) : ('solid' as const) },
    ...(kind === 'steps' ? { step: 'start' as const } : {}),
  };
};

const marksOption = (marks: NonNullable<Plot['marks']>) => ({
  type: 'line' as const,
  data: [],
  silent: true,
  markLine: {
    silent: true,
    symbol: 'none',
    label: { show: false },
    data: marks.map(({ axis, value, color }) => ({
      ...(axis === 'x' ? { xAxis: value } : { yAxis: value }),
      lineStyle: { color: colorOf(color), type: 'dashed' as const, width: 1.5 },
    })),
  },
});

/** What the library writes for a page with a pointer and a script. */
const INTERACTION = /<style >[\s\S]*?<\/style>\n?| (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g;

/** Draws a plot as an SVG that stands in a page: without a script, with the page's colours, and with a name and a description. */
export const drawPlot = ({ x, y, series, marks = [] }: Plot, { id, title, description }: Name): Markup => {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  try {
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: 'inherit' },
      grid: { left: 54, right: 14, top: 12, bottom: 44, outerBoundsMode: 'none' },
      xAxis: axisOption(x, 26),
      yAxis: axisOption(y, 38),
      series: [...series.map(seriesOption), ...(marks.length === 0 ? [] : [marksOption(marks)])],
    });
    const drawing = chart
      .renderToSVGString()
      .replace(INTERACTION, '')
      .replace(/\bzr\d+-/g, `${id}-`)
      .replace(/^<svg[^>]*>/, '');
    return trusted(
      `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="${id}-t ${id}-d">` +
        `<title id="${id}-t">${escapeText(title)}</title><desc id="${id}-d">${escapeText(description)}</desc>${drawing}`,
    );
  } finally {
    // Else its timers keep the program running.
    chart.dispose();
  }
};
