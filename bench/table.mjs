export const median = (values) => {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((left, right) => left - right);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return undefined;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** The value that this share of them does not exceed. */
export const percentile = (values, share) => {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
};

export const fixed = (value, digits) => (value === undefined ? '-' : value.toFixed(digits));

/** A Markdown table with aligned columns: the first to the left, numbers to the right. */
export const table = (header, lines) => {
  const widths = header.map((name, column) => Math.max(3, name.length, ...lines.map((line) => line[column].length)));
  const row = (cells) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [row(header), row(rule), ...lines.map(row)].join('\n');
};

/** Medians over the rounds of one row at one concurrency. */
const summary = (runs) => ({
  requestsPerSecond: median(runs.map((run) => run.requestsPerSecond)),
  p50Ms: median(runs.map((run) => run.p50Ms)),
  p99Ms: median(runs.map((run) => run.p99Ms)),
  cpuMicros: median(runs.map((run) => run.cpuMicros)),
});

const runsOf = (row, concurrency) => row?.runs.filter((run) => run.concurrency === concurrency) ?? [];

const speedTable = (rows, concurrency) => {
  const direct = summary(
    runsOf(
      rows.find((row) => row.name === 'direct'),
      concurrency,
    ),
  ).p50Ms;
  const lines = rows.map((row) => {
    const { requestsPerSecond, p50Ms, p99Ms, cpuMicros } = summary(runsOf(row, concurrency));
    const hasAdded = row.name !== 'direct' && direct !== undefined && p50Ms !== undefined;
    const added = hasAdded ? p50Ms - direct : undefined;
    const figures = [fixed(p50Ms, 3), fixed(p99Ms, 2), fixed(added, 3), fixed(cpuMicros, 0)];
    return [row.name, fixed(requestsPerSecond, 0), ...figures];
  });
  return table(
    [`concurrency ${concurrency}`, 'req/s', 'p50 ms', 'p99 ms', 'added p50 ms', 'processor us/request'],
    lines,
  );
};

/** Rounds are paired: each ratio is taken within one round, then the median of those. */
const ratio = (rows, [over, under], concurrency, figure) => {
  const [numerators, denominators] = [over, under].map((name) =>
    runsOf(
      rows.find((row) => row.name === name),
      concurrency,
    ),
  );
  const pairs = numerators.map((run) => {
    const other = denominators.find((candidate) => candidate.round === run.round);
    return other === undefined ? Number.NaN : run[figure] / other[figure];
  });
  return median(pairs);
};

const RATIOS = [
  ['gateway', 'floor'],
  ['gateway', 'portkey'],
  ['gateway', 'litellm'],
  ['cached', 'floor'],
  ['cached', 'gateway'],
  ['traced', 'gateway'],
];

const ratioTable = (rows, concurrencies, title, figure) => {
  const known = RATIOS.filter((pair) => pair.every((name) => rows.some((row) => row.name === name)));
  const lines = known.map((pair) => [
    pair.join(' / '),
    ...concurrencies.map((concurrency) => fixed(ratio(rows, pair, concurrency, figure), 3)),
  ]);
  return table([title, ...concurrencies.map((concurrency) => `c=${concurrency}`)], lines);
};

const processTable = (rows) => {
  const lines = rows.map((row) => [
    row.name,
    fixed(row.residentMb, 0),
    fixed(median(row.startsMs), 0),
    row.name === 'direct' ? '-' : fixed(median(row.runs.map((run) => run.backendCalls / run.sent)), 2),
    String(row.failures.count),
  ]);
  return table(['process', 'RSS MB after load', 'start ms', 'backend calls/request', 'wrong answers'], lines);
};

const notes = (rows) =>
  rows.flatMap((row) => [
    ...(row.missing === undefined ? [] : [`${row.name}: not measured to the end, ${row.missing}`]),
    ...(row.failures.count === 0
      ? []
      : [
          `${row.name}: do not use these figures, wrong answers: ${row.failures.count}, the first: ${row.failures.first}`,
        ]),
  ]);

/** The whole report as text; medians everywhere. */
export const reportText = ({ title, concurrencies, spans, rows }) =>
  [
    title,
    ...concurrencies.map((concurrency) => speedTable(rows, concurrency)),
    ratioTable(rows, concurrencies, 'req/s, times', 'requestsPerSecond'),
    ratioTable(rows, concurrencies, 'processor, times', 'cpuMicros'),
    processTable(rows),
    ...(spans > 0 ? [`spans that the collector took: ${spans}`] : []),
    ...notes(rows),
  ].join('\n\n');
