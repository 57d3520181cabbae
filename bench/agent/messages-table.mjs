import { coresFor } from '../cores.mjs';
import { fixed, median, table } from '../table.mjs';

/** The cores that the model gives to the database. */
const DATABASE_CORES = [1, 2, 4];

const rowName = ({ name, chats }) => `${name}, c=${chats}`;
const middle = (row, of) => median(row.runs.map(of));
const partMs = (row, part) => middle(row, ({ cpuMs }) => cpuMs[part]);

const costTable = (rows) => {
  const lines = rows.map((row) => {
    const isTold = coresFor(row.servers).isOneEach;
    return [
      rowName(row),
      row.version,
      isTold
        ? fixed(
            middle(row, ({ perSecond }) => perSecond),
            0,
          )
        : '-',
      isTold
        ? fixed(
            middle(row, ({ p50Ms }) => p50Ms),
            1,
          )
        : '-',
      isTold
        ? fixed(
            middle(row, ({ p95Ms }) => p95Ms),
            1,
          )
        : '-',
      fixed(partMs(row, 'server'), 2),
      row.isShared ? fixed(partMs(row, 'database'), 2) : '-',
      fixed(partMs(row, 'load'), 2),
      fixed(partMs(row, 'model'), 2),
      fixed(
        middle(row, ({ residentMb }) => residentMb),
        0,
      ),
    ];
  });
  return table(
    [
      'servers, store, chats',
      'version',
      'messages/s',
      'p50 ms',
      'p95 ms',
      'CPU ms a message: servers',
      'database',
      'load',
      'model',
      'RSS MB of the largest',
    ],
    lines,
  );
};

/** Rounds are paired: each ratio is taken within one round, then the median of those. */
const pairedRatio = (over, under, of) =>
  median(
    over.runs.map((run, round) => (under.runs[round] === undefined ? Number.NaN : of(run) / of(under.runs[round]))),
  );

const ratioTable = (rows) => {
  const lines = rows
    .filter(({ version }) => version === 'now')
    .map((row) => {
      const before = rows.find((one) => one.version === 'before' && rowName(one) === rowName(row));
      const ratio = (of) => fixed(pairedRatio(row, before, of), 2);
      return [
        rowName(row),
        ratio(({ cpuMs }) => cpuMs.server),
        row.isShared ? ratio(({ cpuMs }) => cpuMs.database) : '-',
        coresFor(row.servers).isOneEach ? ratio(({ perSecond }) => perSecond) : '-',
        ratio(({ residentMb }) => residentMb),
      ];
    });
  return table(['now / before', 'CPU of servers', 'of database', 'messages/s', 'RSS'], lines);
};

/**
 * The messages a second that processor time allows at most: each server has a core of its own and the database so many; the part
 * that is full first sets the limit.
 */
export const modelPerSecond = ({ servers, serverMs, databaseMs, databaseCores }) => {
  const limits = [
    { part: 'servers', perSecond: (servers * 1000) / serverMs },
    {
      part: 'database',
      perSecond: databaseMs === undefined ? Number.POSITIVE_INFINITY : (databaseCores * 1000) / databaseMs,
    },
  ];
  return limits[0].perSecond <= limits[1].perSecond ? limits[0] : limits[1];
};

const modelOf = (row, databaseCores) =>
  modelPerSecond({
    servers: row.servers,
    serverMs: partMs(row, 'server'),
    databaseMs: row.isShared ? partMs(row, 'database') : undefined,
    databaseCores,
  });

const modelTable = (rows) => {
  const most = Math.max(...rows.map(({ chats }) => chats));
  const busy = rows.filter(({ chats }) => chats === most);
  const lines = busy.flatMap((row) => {
    const models = DATABASE_CORES.map((cores) => modelOf(row, cores));
    const shown = [
      `${rowName(row)}, ${row.version}`,
      ...models.map(({ part, perSecond }) => `${fixed(perSecond, 0)} (${part})`),
    ];
    const one = busy.find(({ key, version }) => key === 'postgres' && version === row.version);
    if (row.key !== 'two' || one === undefined) return [shown];
    const ratios = DATABASE_CORES.map((cores, index) => models[index].perSecond / modelOf(one, cores).perSecond);
    return [shown, [`two over one, ${row.version}`, ...ratios.map((ratio) => `${fixed(ratio, 2)} times`)]];
  });
  const header = DATABASE_CORES.map((cores) => `database with ${cores} ${cores === 1 ? 'core' : 'cores'}`);
  return [
    'Messages a second by processor time alone, and the part that is full first: each server with a core of its own, load and model elsewhere, no waiting for locks, disk or network',
    table(['model', ...header], lines),
  ].join('\n\n');
};

const tooFewCores = (rows, cores) => {
  const most = Math.max(...rows.filter(({ servers }) => !coresFor(servers).isOneEach).map(({ servers }) => servers), 0);
  return most === 0
    ? []
    : [
        `${most} servers with a core each, beside their load, need ${most + 1} cores and with the database ${most + 2}; this machine has ${cores}. Their speed is not shown; processor time is, and the model stands for it.`,
      ];
};

/** The whole report as text; medians everywhere. */
export const messagesReport = ({ title, cores, rows }) =>
  [
    title,
    costTable(rows),
    ...tooFewCores(rows, cores),
    ...(rows.some(({ version }) => version === 'before') ? [ratioTable(rows)] : []),
    modelTable(rows),
  ].join('\n\n');
