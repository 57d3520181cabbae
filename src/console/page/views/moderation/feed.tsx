import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FeedVerdict } from '../../api/types.ts';
import { latencyText, shortTime } from '../../format/dates.ts';
import { countText, scoreText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Chart, type ChartSeries } from '../../parts/chart.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { onVerdicts } from '../../state/live.ts';
import { texts } from '../../texts.ts';
import { createFeedLog, type FeedRow } from './feed-log.ts';

const { columns, ...words } = texts.moderation.feed;

const ROWS = 30;
const SECONDS = 120;
/** Rows are drawn again so often at most, however fast verdicts come. */
const DRAW_EVERY_MS = 250;
const CHART_EVERY_MS = 1000;

const log = createFeedLog({ rows: ROWS, seconds: SECONDS });
const rows = signal<readonly FeedRow[]>([]);
const chart = signal(log.seconds(Date.now()));
const isPaused = signal(false);

const SERIES: readonly ChartSeries[] = [
  { label: words.verdicts, color: '--accent', isFilled: true },
  { label: words.flagged, color: '--bad' },
  { label: words.latency, color: '--warning', side: 'right', format: (ms) => latencyText(ms) },
];

const useFeed = (): void => {
  useEffect(() => {
    let drawTimer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      drawTimer = undefined;
      if (!isPaused.peek()) rows.value = log.rows();
    };
    const stop = onVerdicts((verdicts: readonly FeedVerdict[]) => {
      log.add(verdicts, Date.now());
      drawTimer ??= setTimeout(draw, DRAW_EVERY_MS);
    });
    const chartTimer = setInterval(() => {
      if (document.visibilityState === 'visible') chart.value = log.seconds(Date.now());
    }, CHART_EVERY_MS);
    return () => {
      stop();
      clearTimeout(drawTimer);
      clearInterval(chartTimer);
    };
  }, []);
};

const Outcome = ({ row: { error, flagged = [] } }: { readonly row: FeedRow }) => {
  if (error !== undefined)
    return (
      <div class="flags">
        <Badge tone="warning">{words.noVerdict}</Badge>
        <code>
          <SafeLine text={error} limit={60} />
        </code>
      </div>
    );
  if (flagged.length === 0) return <Badge tone="good">{words.passed}</Badge>;
  return (
    <div class="flags">
      {flagged.map((category) => (
        <Badge key={category} tone="bad">
          <SafeLine text={category} limit={60} />
        </Badge>
      ))}
    </div>
  );
};

const Row = ({ row }: { readonly row: FeedRow }) => (
  <tr>
    <td class="when">{shortTime(row.at, Date.now())}</td>
    <td class="spare">
      <SafeLine text={row.alias ?? texts.common.none} limit={80} />
    </td>
    <td>
      <Outcome row={row} />
    </td>
    <td class="spare">
      {row.highest === undefined ? (
        '–'
      ) : (
        <>
          <SafeLine text={row.highest.category} limit={60} /> <span class="amount">{scoreText(row.highest.score)}</span>
        </>
      )}
    </td>
    <td class="signs">
      {row.hidden === true ? <Badge tone="warning">{words.hidden}</Badge> : null}
      {row.hidden === true && row.cache === 'hit' ? ' ' : null}
      {row.cache === 'hit' ? <Badge>{words.cached}</Badge> : null}
    </td>
    <td class="number">{latencyText(row.duration_ms)}</td>
  </tr>
);

const chartLabel = (): string => {
  const [, counts = [], flagged = []] = chart.value;
  const sum = (values: readonly (number | null)[]): number =>
    values.slice(-60).reduce<number>((total, value) => total + (value ?? 0), 0);
  return words.chartLabel(countText(sum(counts)), countText(sum(flagged)));
};

/** Verdicts as they are made: the last ones in a table that can be stopped, and their number by the second. */
export const LiveFeed = () => {
  useFeed();
  return (
    <section class="card" aria-labelledby="feed-title">
      <div class="section-head">
        <h2 id="feed-title">{words.title}</h2>
        <Button
          isSmall
          onClick={() => {
            isPaused.value = !isPaused.value;
            if (!isPaused.value) rows.value = log.rows();
          }}
        >
          {isPaused.value ? words.resume : words.pause}
        </Button>
      </div>
      <p class="muted">{words.hint}</p>
      <Chart label={chartLabel()} data={chart.value} series={SERIES} />
      {rows.value.length === 0 ? (
        <p class="muted feed-empty">{words.empty}</p>
      ) : (
        <table class="table feed">
          <TableHead
            columns={[
              columns.time,
              [columns.alias, 'spare alias'],
              columns.outcome,
              [columns.highest, 'spare highest'],
              [columns.signs, 'signs'],
              [columns.latency, 'number'],
            ]}
          />
          <tbody>
            {rows.value.map((row) => (
              <Row key={row.number} row={row} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
};
