import { sum } from '../process.mjs';
import { fixed, median, table } from '../table.mjs';

/** What is told: its name, its value for a version, in how many digits, and what it should come to at most. */
const figuresFor = ({ directMs, streams, idle }) => {
  const paced = (field) => (row) => median(row.paced.map((run) => run[field]));
  const beside = (field) => (row) => median(row.beside.map((run) => run[field]));
  return [
    { name: 'start to ready, ms', of: ({ startsMs }) => median(startsMs), digits: 0 },
    { name: 'first words, ms', of: ({ firstMs }) => median(firstMs), digits: 2 },
    { name: "over the agent's own, ms", of: ({ firstMs }) => median(firstMs) - median(directMs), digits: 2, target: 5 },
    { name: 'processor time a chunk, µs', of: ({ chunkMicros }) => median(chunkMicros), digits: 1, target: 20 },
    { name: `${streams} paced streams: share of a core`, of: paced('share'), digits: 2, target: 0.5 },
    { name: 'the last of them late by, ms', of: paced('lateMs'), digits: 0, target: 300 },
    { name: "of that the agent's own delay, ms", of: paced('agentLateMs'), digits: 0 },
    { name: 'chunks a second of each (100: none joined)', of: paced('chunksPerSecond'), digits: 0 },
    {
      name: 'streams that failed, in all rounds',
      of: (row) => sum([...row.paced, ...row.beside].map((run) => run.failures)),
      digits: 0,
      target: 0,
    },
    { name: 'RSS idle, MB', of: ({ idleMb }) => median(idleMb), digits: 0, target: 120 },
    { name: 'RSS after the calls, MB', of: ({ afterMb }) => afterMb, digits: 0, target: 120 },
    { name: `RSS with ${streams} streams, MB`, of: paced('residentMb'), digits: 0, target: 200 },
    { name: `and with ${idle} idle conversations, MB`, of: beside('residentMb'), digits: 0, target: 200 },
  ];
};

const ratio = (now, before) => (before > 0 ? fixed(now / before, 2) : '-');

/** The report as text; with a version of before, its figures and the ratio beside those of now. */
export const bridgeReport = ({ title, rows, bareMicros, ...given }) => {
  const [now, before] = rows;
  const lines = figuresFor(given).map(({ name, of, digits, target }) => [
    name,
    fixed(of(now), digits),
    ...(before === undefined ? [] : [fixed(of(before), digits), ratio(of(now), of(before))]),
    target === undefined ? '' : `<= ${target}`,
  ]);
  const compared = before === undefined ? [] : ['before', 'now / before'];
  const notes = `the agent's own first words: ${fixed(median(given.directMs), 2)} ms; a chunk of a bare server that writes the same: ${fixed(median(bareMicros), 1)} µs`;
  return [title, table(['', 'now', ...compared, 'target'], lines), notes].join('\n\n');
};
