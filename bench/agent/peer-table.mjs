import { fixed, median, percentile, table } from '../table.mjs';

/** What is told: how it is found in what was measured, in how many digits, and what it should come to at most. */
const figuresFor = ({ directMs, parallel, count }) => [
  { name: 'start to first healthy answer, ms', of: ({ startsMs }) => median(startsMs), digits: 0, target: 300 },
  { name: 'processor time until then, ms', of: ({ startsCpuMs }) => median(startsCpuMs), digits: 0 },
  { name: 'RSS idle, MB', of: ({ idleMb }) => median(idleMb), digits: 0, target: 100 },
  {
    name: `RSS after ${count} sessions x 2 messages, MB`,
    of: ({ afterMb }) => median(afterMb),
    digits: 0,
    target: 150,
  },
  { name: 'POST /session, ms', of: ({ sessionsMs }) => median(sessionsMs), digits: 2, target: 2 },
  { name: 'POST /session p95, ms', of: ({ sessionsMs }) => percentile(sessionsMs, 0.95), digits: 2 },
  { name: 'first message of a process, ms', of: ({ firstMs }) => median(firstMs), digits: 0 },
  {
    name: 'message, over the backend, ms',
    of: ({ messagesMs }) => (messagesMs.length === 0 ? undefined : median(messagesMs) - directMs),
    digits: 1,
    target: 10,
  },
  {
    name: 'message p95, over the backend, ms',
    of: ({ messagesMs }) => (messagesMs.length === 0 ? undefined : percentile(messagesMs, 0.95) - directMs),
    digits: 1,
  },
  { name: 'processor time a message, ms', of: ({ messagesCpuMs }) => median(messagesCpuMs), digits: 1 },
  { name: `${parallel} sessions at once, ms`, of: ({ parallelMs }) => median(parallelMs), digits: 0, target: 400 },
];

/** The report as text: ours, the peer's, what ours should come to, and how many times ours the peer's is. */
export const agentReport = ({ title, servers, commitMs, ...more }) => {
  const [ours, peer] = servers;
  const lines = figuresFor(more).map(({ name, of, digits, target }) => {
    const [own, others] = [of(ours), of(peer)];
    const ratio = own === undefined || others === undefined ? undefined : others / own;
    const isMet = own === undefined || target === undefined ? '' : own <= target ? 'yes' : 'no';
    return [
      name,
      fixed(own, digits),
      fixed(others, digits),
      target === undefined ? '' : `<= ${target}`,
      isMet,
      ratio === undefined ? '-' : `${fixed(ratio, 1)} x`,
    ];
  });
  const notes = [
    `the backend alone: ${fixed(more.directMs, 2)} ms a call; one durable commit on this disk: ${fixed(commitMs, 2)} ms`,
    ...servers.flatMap(({ name, missing }) =>
      missing === undefined ? [] : [`${name}: not measured to the end, ${missing}`],
    ),
  ];
  return [`\n${title}`, table(['', ours.name, peer.name, 'target', 'met', 'peer / ours'], lines), ...notes].join(
    '\n\n',
  );
};
