import type { Dashboard, Panel } from '@grafana/schema';

// The chart's dashboards are written from here: `npm run dashboards`. Their type is Grafana's own model.

/** A line of a panel: its expression in PromQL, and what its lines are called. */
type Query = readonly [expression: string, legend: string];
type Unit = 'short' | 's' | 'reqps' | 'percentunit' | 'bytes' | 'ops';
type Plot = {
  readonly title: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  readonly description?: string;
  /** A number in place of a plot over time. */
  readonly isStat?: boolean;
};
type Page = { readonly name: string; readonly title: string; readonly plots: readonly Plot[] };

const SOURCE = { type: 'prometheus', uid: '${datasource}' };
/** Of the chosen releases. */
const OF = 'namespace=~"$namespace"';

const rate = (metric: string, by: string, matchers = ''): string =>
  `sum by (${by}) (rate(gatehouse_${metric}{${OF}${matchers}}[$__rate_interval]))`;
const quantile = (share: number, metric: string, by = '', matchers = ''): string =>
  `histogram_quantile(${share}, ${rate(`${metric}_bucket`, by === '' ? 'le' : `le, ${by}`, matchers)})`;
const gauge = (metric: string, by: string, matchers = '', how = 'sum'): string =>
  `${how} by (${by}) (gatehouse_${metric}{${OF}${matchers}})`;
const times = (metric: string, matchers = ''): readonly Query[] =>
  [0.5, 0.95, 0.99].map((share) => [quantile(share, metric, '', matchers), `p${share * 100}`]);

/** Requests to a gateway; a bridge has a path of the same name. */
const gatewayRequests = (by: string, matchers: string): string =>
  `sum by (${by}) (rate(gatehouse_requests_total{${OF}${matchers}}[$__rate_interval]) and on (namespace, pod, instance) gatehouse_backend_calls_running)`;
const JUDGING =
  ', method="POST", route=~"/v1/moderations|/v1/chat/completions|/beta/litellm_basic_guardrail_api|/integrations/portkey"';

/** What every service tells of its process, told apart by a metric that only it has. */
const processOf = (own: string): readonly Plot[] => {
  const of = (metric: string): string => `${metric}{${OF}} and on (namespace, pod, instance) gatehouse_${own}`;
  return [
    {
      title: 'Processor',
      unit: 'percentunit',
      description: 'One is a whole core: a process answers with one thread',
      queries: [
        [
          `rate(process_cpu_seconds_total{${OF}}[$__rate_interval]) and on (namespace, pod, instance) gatehouse_${own}`,
          '{{pod}} {{instance}}',
        ],
      ],
    },
    { title: 'Memory', unit: 'bytes', queries: [[of('process_resident_memory_bytes'), '{{pod}} {{instance}}']] },
    {
      title: 'Event loop behind by',
      unit: 's',
      description: 'The slowest percent since the last scrape',
      queries: [[of('nodejs_eventloop_lag_p99_seconds'), '{{pod}} {{instance}}']],
    },
  ];
};

export const PAGES: readonly Page[] = [
  {
    name: 'gateway',
    title: 'Gatehouse: moderation gateway',
    plots: [
      {
        title: 'Keys that can be used',
        unit: 'short',
        isStat: true,
        queries: [[gauge('backend_key_state', 'pod, instance', ', state!="cooling"'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Breaker open',
        unit: 'short',
        isStat: true,
        queries: [[gauge('backend_breaker_open', 'pod, instance', '', 'max'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Redis in use',
        unit: 'short',
        isStat: true,
        queries: [[gauge('shared_state_up', 'pod, instance', '', 'min'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Requests',
        unit: 'reqps',
        queries: [[gatewayRequests('route, status', ', route!~"/health|/ready|/metrics"'), '{{route}} {{status}}']],
      },
      {
        title: 'Requests for a verdict that got an error',
        unit: 'percentunit',
        description: 'Of those at each route. An API relay passes what it gets an error for',
        queries: [
          [
            `${gatewayRequests('route, status', `${JUDGING}, status=~"[45].."`)} / on (route) group_left ${gatewayRequests('route', JUDGING)}`,
            '{{route}} {{status}}',
          ],
        ],
      },
      {
        title: 'Time of a moderation',
        unit: 's',
        queries: times('request_duration_seconds', ', route="/v1/moderations"'),
      },
      {
        title: 'Verdicts',
        unit: 'ops',
        queries: [
          [rate('verdicts_total', 'alias, flagged, cached'), '{{alias}} flagged {{flagged}} cached {{cached}}'],
        ],
      },
      {
        title: 'Found in the cache',
        unit: 'percentunit',
        queries: [
          [`${rate('verdicts_total', 'alias', ', cached="true"')} / ${rate('verdicts_total', 'alias')}`, '{{alias}}'],
        ],
      },
      {
        title: 'Calls of the judge',
        unit: 'ops',
        queries: [[rate('backend_calls_total', 'model, outcome'), '{{model}} {{outcome}}']],
      },
      {
        title: 'Time of a call',
        unit: 's',
        queries: [[quantile(0.95, 'backend_call_duration_seconds', 'model'), '{{model}} p95']],
      },
      {
        title: 'Replies that were no verdict',
        unit: 'ops',
        queries: [[rate('unusable_replies_total', 'model'), '{{model}}']],
      },
      {
        title: 'Calls that run and wait',
        unit: 'short',
        queries: [
          [gauge('backend_calls_running', 'pod, instance'), '{{pod}} {{instance}} running'],
          [gauge('backend_calls_waiting', 'pod, instance'), '{{pod}} {{instance}} waiting'],
          [gauge('backend_calls_waiting_limit', 'pod, instance'), '{{pod}} {{instance}} may wait'],
        ],
      },
      {
        title: 'Rest of each key',
        unit: 's',
        queries: [[gauge('backend_key_rest_seconds', 'key', '', 'max'), '{{key}}']],
      },
      { title: 'Why keys rest', unit: 'short', queries: [[gauge('backend_key_reason', 'reason'), '{{reason}}']] },
      {
        title: 'Tokens',
        unit: 'ops',
        queries: [[rate('tokens_total', 'model, kind', ', kind=~"prompt|output|cache_read"'), '{{model}} {{kind}}']],
      },
      {
        title: 'Flagged without a verdict',
        unit: 'ops',
        queries: [[rate('flagged_without_verdict_total', 'reason'), '{{reason}}']],
      },
      { title: 'Shadow', unit: 'ops', queries: [[rate('shadow_texts_total', 'outcome'), '{{outcome}}']] },
      ...processOf('backend_calls_running'),
    ],
  },
  {
    name: 'agent',
    title: 'Gatehouse: agent server',
    plots: [
      {
        title: 'Store works',
        unit: 'short',
        isStat: true,
        queries: [[gauge('store_up', 'pod, instance', '', 'min'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Waiting for a person',
        unit: 'short',
        isStat: true,
        queries: [[gauge('questions_open', 'namespace'), 'requests']],
      },
      {
        title: 'Servers on the store',
        unit: 'short',
        isStat: true,
        queries: [[gauge('servers', 'namespace', '', 'max'), 'servers']],
      },
      { title: 'Turns', unit: 'ops', queries: [[rate('turns_total', 'end'), '{{end}}']] },
      { title: 'Time of a turn', unit: 's', queries: times('turn_duration_seconds') },
      { title: 'Prompts', unit: 'short', queries: [[gauge('runs', 'state'), '{{state}}']] },
      {
        title: 'Calls of models',
        unit: 'ops',
        queries: [[rate('model_calls_total', 'model, outcome'), '{{model}} {{outcome}}']],
      },
      {
        title: 'Time of a call',
        unit: 's',
        queries: [[quantile(0.95, 'model_call_duration_seconds', 'model'), '{{model}} p95']],
      },
      {
        title: 'Tool calls',
        unit: 'ops',
        queries: [[rate('tool_calls_total', 'server, outcome'), '{{server}} {{outcome}}']],
      },
      {
        title: 'Tokens',
        unit: 'ops',
        queries: [
          [rate('tokens_total', 'model, kind', ', kind=~"input|output|reasoning|cache_write"'), '{{model}} {{kind}}'],
        ],
      },
      {
        title: 'Requests',
        unit: 'reqps',
        queries: [
          [
            `${rate('requests_total', 'status, pod, instance')} and on (pod, instance) gatehouse_questions_open`,
            '{{status}} {{pod}} {{instance}}',
          ],
        ],
      },
      {
        title: 'Sessions worked on',
        unit: 'short',
        queries: [[gauge('leases', 'state'), '{{state}}']],
      },
      {
        title: 'Event streams',
        unit: 'short',
        queries: [[gauge('event_streams_open', 'pod, instance'), '{{pod}} {{instance}}']],
      },
      ...processOf('questions_open'),
    ],
  },
  {
    name: 'bridge',
    title: 'Gatehouse: bridge',
    plots: [
      {
        title: 'Agent servers in use',
        unit: 'short',
        isStat: true,
        queries: [[gauge('agent_servers_well', 'pod, instance', '', 'min'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Answers that run',
        unit: 'short',
        isStat: true,
        queries: [[gauge('answers_running', 'pod, instance'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Streams that are resumed',
        unit: 'short',
        isStat: true,
        queries: [[gauge('streams_resumed', 'pod, instance'), '{{pod}} {{instance}}']],
      },
      {
        title: 'Answers',
        unit: 'ops',
        queries: [[rate('answers_total', 'endpoint, outcome'), '{{endpoint}} {{outcome}}']],
      },
      { title: 'Time to the first word', unit: 's', queries: times('first_word_seconds') },
      { title: 'Time to the end', unit: 's', queries: times('answer_duration_seconds') },
      {
        title: 'Requests',
        unit: 'reqps',
        queries: [
          [
            `${rate('requests_total', 'status, pod, instance')} and on (pod, instance) gatehouse_answers_running`,
            '{{status}} {{pod}} {{instance}}',
          ],
        ],
      },
      ...processOf('answers_running'),
    ],
  },
];

const COLUMNS = 24;
const STATS_IN_A_ROW = 3;
const PLOTS_IN_A_ROW = 2;

const panelOf = ({ title, unit, queries, description, isStat = false }: Plot, index: number, stats: number): Panel => {
  const inRow = isStat ? STATS_IN_A_ROW : PLOTS_IN_A_ROW;
  const height = isStat ? 4 : 8;
  const place = isStat ? index : index - stats;
  const above = isStat ? 0 : Math.ceil(stats / STATS_IN_A_ROW) * 4;
  const width = COLUMNS / inRow;
  return {
    id: index + 1,
    type: isStat ? 'stat' : 'timeseries',
    title,
    ...(description === undefined ? {} : { description }),
    datasource: SOURCE,
    gridPos: { h: height, w: width, x: (place % inRow) * width, y: above + Math.floor(place / inRow) * height },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(([expr, legendFormat], number) => ({
      refId: String.fromCharCode(65 + number),
      datasource: SOURCE,
      expr,
      legendFormat,
    })),
    options: isStat
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' } },
  };
};

const NO_ACTION = { hide: 0, skipUrlSync: false } as const;

/** A page as Grafana takes it: a file for its provisioning, or the text of a ConfigMap for its sidecar. */
export const dashboardOf = ({ name, title, plots }: Page): Dashboard => {
  const stats = plots.filter(({ isStat }) => isStat === true).length;
  return {
    uid: `gatehouse-${name}`,
    title,
    tags: ['gatehouse'],
    schemaVersion: 41,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { ...NO_ACTION, name: 'datasource', type: 'datasource', label: 'Data source', query: 'prometheus' },
        {
          ...NO_ACTION,
          name: 'namespace',
          type: 'query',
          label: 'Namespace',
          datasource: SOURCE,
          query: 'label_values(gatehouse_build_info, namespace)',
          includeAll: true,
          allValue: '.*',
          multi: true,
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels: plots.map((plot, index) => panelOf(plot, index, stats)),
  };
};

/** The text of the file in the chart. */
export const dashboardText = (page: Page): string => `${JSON.stringify(dashboardOf(page), undefined, 2)}\n`;
